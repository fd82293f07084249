import { describe, expect, test } from '@jest/globals';
import type { PodCondition, PodStatus, Refusal } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { belowUsage, resizeConditions, resizeEvents } from '../../src/index.ts';

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
    ['are empty while no resize is requested', {}, idle, []],
    [
      'report a deferred resize',
      { pendingResize: outOfCpu },
      idle,
      [{ ...waiting, reason: 'Deferred', message: 'too much' }],
    ],
    [
      'report an infeasible resize',
      { pendingResize: infeasible },
      idle,
      [{ ...waiting, reason: 'Infeasible', message: 'never' }],
    ],
    ['report a resize in progress', {}, { ...idle, inProgress: true }, [going]],
    [
      'report a resize that failed',
      {},
      { inProgress: true, error: 'no such cgroup' },
      [{ ...going, reason: 'Error', message: 'no such cgroup' }],
    ],
    [
      'report a resize in progress while the next one is deferred',
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
      'are published when it is deferred',
      undefined,
      waits('Deferred'),
      [`Warning ResizeDeferred: Pod resize OutOfcpu: ${summary(3, 'too much', wanted)}`],
    ],
    ['are not repeated while it stays deferred', waits('Deferred'), waits('Deferred'), []],
    [
      'are published when another change is deferred',
      waits('Deferred', 2),
      waits('Deferred'),
      [`Warning ResizeDeferred: Pod resize OutOfcpu: ${summary(3, 'too much', wanted)}`],
    ],
    [
      'are published when it is started',
      undefined,
      going(3),
      [`Normal ResizeStarted: Pod resize started: ${summary(3)}`],
    ],
    ['are not repeated while it is in progress', going(3), going(3), []],
    [
      'are published when the next resize replaces it',
      going(2),
      going(3),
      [`Normal ResizeStarted: Pod resize started: ${summary(3)}`],
    ],
    [
      'are published when it failed',
      going(3),
      failed('no'),
      [`Warning ResizeError: Pod resize error: ${summary(3, 'no')}`],
    ],
    ['are not repeated for the same failure', failed('no'), failed('no'), []],
    [
      'are published for a different failure',
      failed('no'),
      failed('oh'),
      [`Warning ResizeError: Pod resize error: ${summary(3, 'oh')}`],
    ],
    [
      'are published when it is completed',
      going(3),
      status(),
      [`Normal ResizeCompleted: Pod resize completed: ${summary(3)}`],
    ],
    ['are not published when the pod has ended', going(3), over, []],
  ])('%s', (_, before, after, expected) => {
    const events = resizeEvents({ pod, pendingResize: outOfCpu }, before, after);
    expect(events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`)).toEqual(expected);
  });

  test('include init containers', () => {
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
])('the memory limit of %s with a usage of %s is not lowered to 5', (name, used, text) => {
  expect(belowUsage(name, 5n, used)).toBe(text);
});
