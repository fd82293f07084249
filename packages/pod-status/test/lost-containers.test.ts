import type { PodStatus } from '@kubus/contracts';
import { exited, pod, run, runtime } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import { illegalTransition, rejectedStatus, terminatedStatus } from '../src/index.ts';
import { NOW, condition, status } from './make-status.ts';

const deletion = { deletionTimestamp: '2030-01-01T00:00:00Z' };
const first = (one: PodStatus) => one.containerStatuses?.[0];

describe('a container of which the runtime has nothing', () => {
  const before = status({ runtime: runtime([run({ attempt: 2 })]) });
  const lost = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was deleted.  The container used to be Running',
  };

  test('and that was running has ended, waits, and counts a restart once', () => {
    const one = status({ previous: before, runtime: runtime([]) });
    const expected = {
      restartCount: 3,
      ready: false,
      started: false,
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: lost },
    };
    expect(first(one)).toMatchObject(expected);
    expect(one.phase).toBe('Running');
    expect(first(status({ previous: one, runtime: runtime([]) }))).toMatchObject(expected);
  });

  test('counts none when the pod is being deleted', () => {
    const one = status({ pod: pod({}, deletion), previous: before, runtime: runtime([]) });
    expect(first(one)).toMatchObject({ restartCount: 2, lastState: { terminated: lost } });
  });

  test('and that had ended stays as it was', () => {
    const ended = status({ runtime: runtime([exited(3, { attempt: 1 })]) });
    expect(first(status({ previous: ended }))).toEqual({ ...first(ended), resources: undefined });
  });

  test('and that never ran waits', () => {
    const one = status({ previous: status() });
    expect(first(one)).toMatchObject({
      restartCount: 0,
      lastState: {},
      state: { waiting: { reason: 'ContainerCreating' } },
    });
  });

  test('and is a plain init container of a pod that has come further, is done', () => {
    const of = pod({ initContainers: [{ name: 'i', image: 'busybox' }] });
    const { initContainerStatuses } = status({ pod: of, runtime: runtime([exited(1)]) });
    expect(initContainerStatuses).toMatchObject([
      { ready: true, state: { terminated: { exitCode: 0, reason: 'Completed' } } },
    ]);
  });

  test('in unknown state ends where it was running, and says so from then on', () => {
    const unknown = runtime([run({ attempt: 2, state: 'unknown' })]);
    const once = status({ previous: before, runtime: unknown });
    const expected = { restartCount: 3, state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } };
    expect(first(once)).toMatchObject(expected);
    expect(first(status({ previous: once, runtime: unknown }))).toMatchObject(expected);
    expect(first(status({ runtime: unknown }))).toMatchObject({ restartCount: 2, state: { waiting: {} } });
  });

  test('the end of a run that is not listed any more stays the last state of the next', () => {
    const ended = status({ runtime: runtime([exited(3, { attempt: 1 })]) });
    const next = status({ previous: ended, runtime: runtime([run({ attempt: 2 })]) });
    expect(first(next)?.lastState?.terminated?.exitCode).toBe(3);
    const later = status({ previous: next, runtime: runtime([run({ attempt: 2 })]) });
    expect(first(later)).toEqual(first(next));
  });
});

describe('why a container waits', () => {
  const waiting = new Map(['c', 'i'].map((name) => [name, { reason: 'ErrImagePull', message: 'no' }]));
  const of = pod({ initContainers: [{ name: 'i', image: 'busybox' }] });

  test.each([
    ['before anything', pod(), undefined, 'ErrImagePull'],
    ['before anything, while it is deleted', pod({}, deletion), undefined, 'ContainerCreating'],
    ['made and not started', pod(), runtime([run({ state: 'created' })]), 'ErrImagePull'],
  ])('%s', (_title, one, state, reason) => {
    expect(first(status({ pod: one, runtime: state, waiting }))?.state?.waiting?.reason).toBe(reason);
  });

  test('init containers say so, too, unless they are done', () => {
    const reason = (state: ReturnType<typeof runtime>) =>
      status({ pod: of, runtime: state, waiting }).initContainerStatuses?.[0]?.state?.waiting?.reason;
    expect(reason(runtime([]))).toBe('ErrImagePull');
    expect(reason(runtime([exited(1, { name: 'i' })]))).toBe('ErrImagePull');
    expect(reason(runtime([exited(0, { name: 'i' })]))).toBeUndefined();
  });

  test('without a reason the pod is being initialized', () => {
    expect(first(status({ pod: of }))?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
  });
});

describe('restarting all containers', () => {
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
  const of = pod({
    containers: [
      { name: 'a', image: 'busybox', restartPolicyRules: rules },
      { name: 'b', image: 'busybox' },
    ],
  });
  const at = (state: ReturnType<typeof runtime>, previous: PodStatus | undefined) =>
    status({ pod: of, runtime: state, previous, restartAllContainers: true });
  const is = (one: PodStatus) => condition(one, 'AllContainersRestarting')?.status;

  test('is shown from the end of its cause until the first container is there again', () => {
    const running = at(runtime([run({ name: 'a' }), run({ name: 'b' })]), undefined);
    const cause = at(runtime([exited(42, { name: 'a' }), run({ name: 'b' })]), running);
    const half = at(runtime([exited(42, { name: 'a' })]), cause);
    const empty = at(runtime([]), half);
    const again = at(runtime([run({ name: 'a', attempt: 1 })]), empty);
    expect([running, cause, half, empty, again].map(is)).toEqual([undefined, 'True', 'True', 'True', 'False']);
    expect(empty.containerStatuses).toMatchObject([
      { restartCount: 1, lastState: { terminated: { exitCode: 42 } }, state: { waiting: {} } },
      { restartCount: 1, lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } } },
    ]);
    expect(at(runtime([]), empty).containerStatuses).toEqual(empty.containerStatuses);
    expect(empty.phase).toBe('Running');
    expect(again.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 42 } },
    });
  });
});

describe('special statuses', () => {
  const annotations = { 'kubernetes.io/config.source': 'file' };

  test('a rejected pod has failed with the reason of its admission', () => {
    const one = rejectedStatus(pod({}, { generation: 2 }), { reason: 'NodeAffinity', message: 'no fit', now: NOW });
    expect(one).toEqual({
      phase: 'Failed',
      reason: 'NodeAffinity',
      message: 'Pod was rejected: no fit',
      conditions: [],
      observedGeneration: 2,
      startTime: '2030-01-01T00:00:05Z',
      qosClass: 'BestEffort',
    });
  });

  test.each([
    ['Pending', pod(), 'Failed'],
    ['Running', pod(), 'Failed'],
    ['Succeeded', pod(), 'Succeeded'],
    ['Running', pod({}, { annotations }), 'Running'],
  ])('a %s pod of which nothing is left', (phase, of, expected) => {
    expect(terminatedStatus(of, { phase }).phase).toBe(expected);
  });

  test('containers whose end nobody saw count as killed', () => {
    const one = terminatedStatus(pod(), status({ runtime: runtime([run()]) }));
    expect(first(one)?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
    const ended = status({ runtime: runtime([exited(5)]) });
    expect(first(terminatedStatus(pod(), ended))?.state?.terminated?.exitCode).toBe(5);
  });

  test('of a pod that was not initialized only the init containers that had begun', () => {
    const of = pod({ initContainers: [{ name: 'i1' }, { name: 'i2' }, { name: 'i3' }] });
    const state = runtime([exited(0, { name: 'i1' }), run({ name: 'i2' })]);
    const one = terminatedStatus(of, status({ pod: of, runtime: state }));
    expect(one.initContainerStatuses?.map(({ state: { terminated } = {} }) => terminated?.exitCode)).toEqual([
      0,
      137,
      undefined,
    ]);
    expect(first(one)?.state?.terminated).toBeUndefined();
  });

  test.each([
    ['Never', 0, 'c'],
    ['OnFailure', 0, 'c'],
    ['OnFailure', 1, undefined],
    ['Always', 0, undefined],
  ])('policy %s, ended with %i, and alive again', (restartPolicy, exitCode, expected) => {
    const of = pod({ restartPolicy });
    const ended = status({ pod: of, runtime: runtime([exited(exitCode)]) });
    const alive = status({ pod: of, runtime: runtime([run({ attempt: 1 })]) });
    expect(illegalTransition(of, ended, alive)).toBe(expected);
    expect(illegalTransition(of, ended, ended)).toBeUndefined();
  });
});
