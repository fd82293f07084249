import { expect, test } from '@jest/globals';
import { podStates, stateWords, statesOf } from './pod-states.ts';

test('states differ in word and in shape', () => {
  const looks = Object.values(podStates);
  expect(new Set(looks.map(({ word }) => word)).size).toBe(looks.length);
  expect(new Set(looks.map(({ outline, filled }) => `${outline ?? ''} ${filled ?? ''}`)).size).toBe(looks.length);
});

test('the legend has the states that occur, in the order of a pod’s life', () => {
  const pods = (['deleted', 'ready', 'failing', 'ready'] as const).map((state) => ({ state }));
  expect(statesOf(pods)).toEqual([
    { state: 'ready', pods: 2 },
    { state: 'failing', pods: 1 },
    { state: 'deleted', pods: 1 },
  ]);
  expect(statesOf([])).toEqual([]);
});

test('a state is shown with its reason where it has one', () => {
  expect(stateWords('failing', 'CrashLoopBackOff')).toBe('Failing: CrashLoopBackOff');
  expect(stateWords('ready', undefined)).toBe('Ready');
});
