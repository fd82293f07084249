import type { PodWork } from '@kubus/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type WorkerMachine,
  gracePeriod,
  initialMachine,
  killTimeoutMs,
  stepWorker,
  workerAnswers,
} from '../src/index.ts';
import { pod } from './states.ts';

function work(overrides: Partial<PodWork> = {}): PodWork {
  return {
    ref: { namespace: 'default', name: 'p', uid: 'u1' },
    pod: pod(),
    source: 'file',
    work: 'sync',
    reason: 'desired',
    worker: 'pod-workers-0',
    firstSeen: '2030-01-01T00:00:00Z',
    ...overrides,
  };
}

const deleting = (seconds: number) =>
  work({ pod: pod({}, { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: seconds }) });

describe('stepWorker', () => {
  test.each<[string, PodWork, WorkerMachine['state'], boolean]>([
    ['a desired pod is synced', work(), 'syncing', false],
    ['a removed one ends and is forgotten', work({ work: 'kill' }), 'terminating', true],
    ['a deleted one ends', deleting(5), 'terminating', false],
    ['one that has failed ends', work({ pod: { ...pod(), status: { phase: 'Failed' } } }), 'terminating', false],
    ['one that has succeeded ends', work({ pod: { ...pod(), status: { phase: 'Succeeded' } } }), 'terminating', false],
    ['a pending one does not', work({ pod: { ...pod(), status: { phase: 'Pending' } } }), 'syncing', false],
  ])('%s', (_name, input, state, forget) => {
    expect(stepWorker(initialMachine, { kind: 'work', work: input })).toMatchObject({ state, forget });
  });

  test('a pod that ran its course stays terminated until nobody wants it', () => {
    let machine = stepWorker(initialMachine, { kind: 'passed', terminal: false });
    expect(machine.state).toBe('syncing');
    for (const state of ['terminating', 'terminated', 'terminated']) {
      machine = stepWorker(machine, { kind: 'passed', terminal: true });
      expect(machine.state).toBe(state);
    }
    machine = stepWorker(machine, { kind: 'work', work: work({ work: 'kill' }) });
    expect(machine).toMatchObject({ state: 'terminated', forget: true });
    expect(stepWorker(machine, { kind: 'passed', terminal: true }).state).toBe('finished');
  });

  test.each<[string, PodWork, WorkerMachine['state']]>([
    ['one that is over needs only cleaning up', work({ pod: { ...pod(), status: { phase: 'Failed' } } }), 'terminated'],
    ['so does one that is not wanted before it ever ran', work({ work: 'kill' }), 'terminated'],
    ['one that is being deleted is ended in order', deleting(5), 'terminating'],
    ['one that is wanted is synced', work(), 'syncing'],
  ])('with nothing of it running, %s', (_name, input, state) => {
    expect(stepWorker(initialMachine, { kind: 'work', work: input, idle: true }).state).toBe(state);
  });

  test('that nothing runs does not cut short an ending that has begun', () => {
    const ending = stepWorker(initialMachine, { kind: 'work', work: deleting(5) });
    expect(stepWorker(ending, { kind: 'work', work: work({ work: 'kill' }), idle: true }).state).toBe('terminating');
  });

  test('grace only shrinks', () => {
    let machine = stepWorker(initialMachine, { kind: 'work', work: deleting(30) });
    expect(machine.graceSeconds).toBe(30);
    machine = stepWorker(machine, { kind: 'work', work: deleting(5) });
    expect(machine.graceSeconds).toBe(5);
    machine = stepWorker(machine, { kind: 'work', work: deleting(60) });
    expect(machine.graceSeconds).toBe(5);
  });

  test('states only go forward, whatever comes', () => {
    const order = ['syncing', 'terminating', 'terminated', 'finished'];
    const input = fc.oneof(
      fc
        .constantFrom(work(), work({ work: 'kill' }), deleting(3), deleting(40))
        .chain((one) => fc.boolean().map((idle) => ({ kind: 'work' as const, work: one, idle }))),
      fc.boolean().map((terminal) => ({ kind: 'passed' as const, terminal })),
    );
    fc.assert(
      fc.property(fc.array(input, { maxLength: 20 }), (inputs) => {
        let machine = initialMachine;
        for (const one of inputs) {
          const next = stepWorker(machine, one);
          expect(order.indexOf(next.state)).toBeGreaterThanOrEqual(order.indexOf(machine.state));
          expect(next.graceSeconds ?? Infinity).toBeLessThanOrEqual(machine.graceSeconds ?? Infinity);
          expect(next.forget || !machine.forget).toBe(true);
          machine = next;
        }
      }),
    );
  });
});

test.each([
  [pod({ terminationGracePeriodSeconds: 20 }), undefined, 20],
  [pod({ terminationGracePeriodSeconds: 20 }, { deletionGracePeriodSeconds: 7 }), undefined, 7],
  [pod({ terminationGracePeriodSeconds: 20 }), 3, 3],
  [pod({ terminationGracePeriodSeconds: 20 }), 60, 20],
  [pod({ terminationGracePeriodSeconds: 0 }), undefined, 1],
  [pod(), undefined, 30],
  [undefined, undefined, 1],
])('gracePeriod %#', (one, override, seconds) => expect(gracePeriod(one, override)).toBe(seconds));

test.each<[WorkerMachine['state'], boolean, boolean[]]>([
  ['syncing', false, [false, true, false, false]],
  ['terminating', true, [true, true, false, false]],
  ['terminated', false, [true, false, true, false]],
  ['terminated', true, [true, false, true, true]],
  ['finished', true, [true, false, true, true]],
])('what %s means for others, forgotten: %s', (state, forget, expected) => {
  const { containersEnding, mayHaveRunningContainers, runtimeRemovable, contentRemovable } = workerAnswers({
    state,
    forget,
  });
  expect([containersEnding, mayHaveRunningContainers, runtimeRemovable, contentRemovable]).toEqual(expected);
});

test.each([
  [1, 10_000],
  [20, 30_000],
])('who kills with %i s of grace waits %i ms', (grace, ms) => expect(killTimeoutMs(grace)).toBe(ms));
