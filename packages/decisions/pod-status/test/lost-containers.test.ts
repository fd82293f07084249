import type { PodStatus } from '@kubus/contracts';
import { exited, pod, run, runtime } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import { illegalTransition, rejectedStatus, terminatedStatus } from '../src/index.ts';
import { NOW, condition, status } from './make-status.ts';

const deletion = { deletionTimestamp: '2030-01-01T00:00:00Z' };
const first = (one: PodStatus) => one.containerStatuses?.[0];

describe('a container that the runtime does not have', () => {
  const before = status({ runtime: runtime([run({ attempt: 2 })]) });
  const lost = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was deleted.  The container used to be Running',
  };

  test('has ended, is waiting and has one more restart if it was running', () => {
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

  test('has no additional restart when the pod is being deleted', () => {
    const one = status({ pod: pod({}, deletion), previous: before, runtime: runtime([]) });
    expect(first(one)).toMatchObject({ restartCount: 2, lastState: { terminated: lost } });
  });

  test('is unchanged if it had ended', () => {
    const ended = status({ runtime: runtime([exited(3, { attempt: 1 })]) });
    expect(first(status({ previous: ended }))).toEqual({ ...first(ended), resources: undefined });
  });

  test('is waiting if it has never run', () => {
    const one = status({ previous: status() });
    expect(first(one)).toMatchObject({
      restartCount: 0,
      lastState: {},
      state: { waiting: { reason: 'ContainerCreating' } },
    });
  });

  test('has succeeded if it is a plain init container of a pod that has continued', () => {
    const of = pod({ initContainers: [{ name: 'i', image: 'busybox' }] });
    const { initContainerStatuses } = status({ pod: of, runtime: runtime([exited(1)]) });
    expect(initContainerStatuses).toMatchObject([
      { ready: true, state: { terminated: { exitCode: 0, reason: 'Completed' } } },
    ]);
  });

  test('has ended if its state is unknown and it was running', () => {
    const unknown = runtime([run({ attempt: 2, state: 'unknown' })]);
    const once = status({ previous: before, runtime: unknown });
    const expected = { restartCount: 3, state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } };
    expect(first(once)).toMatchObject(expected);
    expect(first(status({ previous: once, runtime: unknown }))).toMatchObject(expected);
    expect(first(status({ runtime: unknown }))).toMatchObject({ restartCount: 2, state: { waiting: {} } });
  });

  test('keeps the end of a run that is not listed any more as the last state', () => {
    const ended = status({ runtime: runtime([exited(3, { attempt: 1 })]) });
    const next = status({ previous: ended, runtime: runtime([run({ attempt: 2 })]) });
    expect(first(next)?.lastState?.terminated?.exitCode).toBe(3);
    const later = status({ previous: next, runtime: runtime([run({ attempt: 2 })]) });
    expect(first(later)).toEqual(first(next));
  });
});

describe('the waiting reason of a container', () => {
  const waiting = new Map(['c', 'i'].map((name) => [name, { reason: 'ErrImagePull', message: 'no' }]));
  const of = pod({ initContainers: [{ name: 'i', image: 'busybox' }] });

  test.each([
    ['before anything is created', pod(), undefined, 'ErrImagePull'],
    ['before anything is created, while the pod is being deleted', pod({}, deletion), undefined, 'ContainerCreating'],
    ['created and not started', pod(), runtime([run({ state: 'created' })]), 'ErrImagePull'],
  ])('%s', (_title, one, state, reason) => {
    expect(first(status({ pod: one, runtime: state, waiting }))?.state?.waiting?.reason).toBe(reason);
  });

  test('is also set for init containers that have not succeeded', () => {
    const reason = (state: ReturnType<typeof runtime>) =>
      status({ pod: of, runtime: state, waiting }).initContainerStatuses?.[0]?.state?.waiting?.reason;
    expect(reason(runtime([]))).toBe('ErrImagePull');
    expect(reason(runtime([exited(1, { name: 'i' })]))).toBe('ErrImagePull');
    expect(reason(runtime([exited(0, { name: 'i' })]))).toBeUndefined();
  });

  test('is PodInitializing without any other', () => {
    expect(first(status({ pod: of }))?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
  });
});

describe('the restart of all containers', () => {
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

  test('is shown from the end of the container that caused it until the first container exists again', () => {
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

  test('rejectedStatus is failed with the reason of the admission', () => {
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
  ])('terminatedStatus for a %s pod of which nothing is left', (phase, of, expected) => {
    expect(terminatedStatus(of, { phase }).phase).toBe(expected);
  });

  test('terminatedStatus shows containers whose end was not observed as killed', () => {
    const one = terminatedStatus(pod(), status({ runtime: runtime([run()]) }));
    expect(first(one)?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
    const ended = status({ runtime: runtime([exited(5)]) });
    expect(first(terminatedStatus(pod(), ended))?.state?.terminated?.exitCode).toBe(5);
  });

  test('terminatedStatus of a pod that was not initialized shows only the init containers that had started as killed', () => {
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
  ])(
    'illegalTransition with policy %s, exit code %i and the container running again',
    (restartPolicy, exitCode, expected) => {
      const of = pod({ restartPolicy });
      const ended = status({ pod: of, runtime: runtime([exited(exitCode)]) });
      const alive = status({ pod: of, runtime: runtime([run({ attempt: 1 })]) });
      expect(illegalTransition(of, ended, alive)).toBe(expected);
      expect(illegalTransition(of, ended, ended)).toBeUndefined();
    },
  );
});
