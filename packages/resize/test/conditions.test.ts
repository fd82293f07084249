import { describe, expect, test } from '@jest/globals';
import type { PodCondition, PodStatus, Refusal } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { belowUsage, resizeConditions, resizeEvents } from '../src/index.ts';

const resources = { requests: { memory: '64Mi', cpu: '1' }, limits: { cpu: '2' } };
const pod = makePod({ containers: [{ name: 'a', image: 'busybox', resources }] }, { generation: 3 });
const idle = { inProgress: false, error: undefined };

function pending({ reason, message }: Refusal) {
  return { reason, message, wanted: { generation: 3, containers: { a: { requests: { cpu: '9' } } } } };
}

const outOfCpu = pending({ reason: 'OutOfcpu', message: 'too much' });
const infeasible = pending({ reason: 'Infeasible', message: 'never' });

describe('the conditions of a resize', () => {
  const waiting = { type: 'PodResizePending', status: 'True', generation: 3 };
  const going = { type: 'PodResizeInProgress', status: 'True', generation: 2 };

  test.each([
    ['none while nothing is asked for', {}, idle, []],
    ['a refusal', { pendingResize: outOfCpu }, idle, [{ ...waiting, reason: 'Deferred', message: 'too much' }]],
    ['one for good', { pendingResize: infeasible }, idle, [{ ...waiting, reason: 'Infeasible', message: 'never' }]],
    ['what is being given', {}, { ...idle, inProgress: true }, [going]],
    [
      'what could not be given',
      {},
      { inProgress: true, error: 'no such cgroup' },
      [{ ...going, reason: 'Error', message: 'no such cgroup' }],
    ],
    [
      'one that is given while the next one waits',
      { pendingResize: outOfCpu },
      { ...idle, inProgress: true },
      [{ ...waiting, reason: 'Deferred', message: 'too much' }, going],
    ],
  ])('%s', (_, work, progress, expected) => {
    expect(resizeConditions({ pod, allocatedGeneration: 2, ...work }, progress)).toEqual(expected);
  });
});

describe('the events of a resize', () => {
  const status = (...conditions: Partial<PodCondition>[]): PodStatus => ({
    phase: 'Running',
    conditions: conditions.map((one) => ({ type: 'PodResizeInProgress', status: 'True', ...one })),
  });
  const waits = (reason: string, observedGeneration = 3) =>
    status({ type: 'PodResizePending', reason, observedGeneration });
  const going = (observedGeneration: number, rest: Partial<PodCondition> = {}) =>
    status({ observedGeneration, ...rest });
  const failed = (message: string) => going(3, { reason: 'Error', message });
  const own = '{"limits":{"cpu":"2"},"requests":{"cpu":"1","memory":"64Mi"}}';
  const summary = (generation: number, error = '', amounts = own) =>
    `{"containers":[{"name":"a","resources":${amounts}}],"generation":${generation}` +
    `${error === '' ? '' : `,"error":"${error}"`}}`;
  const wanted = '{"requests":{"cpu":"9"}}';
  const over: PodStatus = { phase: 'Succeeded' };

  test.each<[string, PodStatus | undefined, PodStatus, string[]]>([
    [
      'put off',
      undefined,
      waits('Deferred'),
      [`Warning ResizeDeferred: Pod resize OutOfcpu: ${summary(3, 'too much', wanted)}`],
    ],
    ['put off again', waits('Deferred'), waits('Deferred'), []],
    [
      'put off anew for another change',
      waits('Deferred', 2),
      waits('Deferred'),
      [`Warning ResizeDeferred: Pod resize OutOfcpu: ${summary(3, 'too much', wanted)}`],
    ],
    ['begun', undefined, going(3), [`Normal ResizeStarted: Pod resize started: ${summary(3)}`]],
    ['going on', going(3), going(3), []],
    ['overtaken by the next', going(2), going(3), [`Normal ResizeStarted: Pod resize started: ${summary(3)}`]],
    ['failed', going(3), failed('no'), [`Warning ResizeError: Pod resize error: ${summary(3, 'no')}`]],
    ['failed in the same way', failed('no'), failed('no'), []],
    ['failed otherwise', failed('no'), failed('oh'), [`Warning ResizeError: Pod resize error: ${summary(3, 'oh')}`]],
    ['done', going(3), status(), [`Normal ResizeCompleted: Pod resize completed: ${summary(3)}`]],
    ['of no use any more', going(3), over, []],
  ])('%s', (_, before, after, expected) => {
    const events = resizeEvents({ pod, pendingResize: outOfCpu }, before, after);
    expect(events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`)).toEqual(expected);
  });

  test('name init containers too', () => {
    const spec = { ...pod.spec, initContainers: [{ name: 'i' }] };
    const [event] = resizeEvents({ pod: { ...pod, spec } }, undefined, going(3));
    expect(event?.message).toContain('{"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"a"');
  });
});

test.each([
  [undefined, 7n, 'attempting to set pod memory limit (5) below current usage (7)'],
  ['a', 7n, 'attempting to set container "a" memory limit (5) below current usage (7)'],
  [undefined, undefined, 'missing pod memory usage'],
  ['a', undefined, 'missing container "a" memory usage'],
])('a memory limit of 5 of %s that uses %s is not lowered', (name, used, text) => {
  expect(belowUsage(name, 5n, used)).toBe(text);
});
