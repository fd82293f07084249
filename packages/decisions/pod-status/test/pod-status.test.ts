import { exited, pod, run, runtime, sandbox } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { PodStatusInput } from '../src/index.ts';
import { NOW, condition, status } from './make-status.ts';

const two = {
  containers: [
    { name: 'a', image: 'busybox' },
    { name: 'b', image: 'busybox' },
  ],
};

describe('the phase', () => {
  test.each<[string, Partial<PodStatusInput>, string]>([
    ['nothing exists yet', {}, 'Pending'],
    ['running', { runtime: runtime([run()]) }, 'Running'],
    ['one of two containers not started', { pod: pod(two), runtime: runtime([run({ name: 'a' })]) }, 'Pending'],
    ['ended and to be restarted', { runtime: runtime([exited(1)]) }, 'Running'],
    [
      'succeeded with policy Never',
      { pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(0)]) },
      'Succeeded',
    ],
    ['failed with policy Never', { pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(3)]) }, 'Failed'],
    [
      'succeeded with policy OnFailure',
      { pod: pod({ restartPolicy: 'OnFailure' }), runtime: runtime([exited(0)]) },
      'Succeeded',
    ],
    [
      'failed with policy OnFailure',
      { pod: pod({ restartPolicy: 'OnFailure' }), runtime: runtime([exited(1)]) },
      'Running',
    ],
    [
      'one ended permanently, one running',
      {
        pod: pod({ ...two, restartPolicy: 'Never' }),
        runtime: runtime([exited(0, { name: 'a' }), run({ name: 'b' })]),
      },
      'Running',
    ],
    ['being ended, all containers failed', { runtime: runtime([exited(137)]), ending: true }, 'Failed'],
    ['being ended, all containers succeeded', { runtime: runtime([exited(0)]), ending: true }, 'Succeeded'],
    ['terminal in the previous status', { runtime: runtime([run()]), previous: { phase: 'Failed' } }, 'Failed'],
    [
      'terminal in the API',
      { pod: { ...pod(), status: { phase: 'Succeeded' } }, runtime: runtime([run()]) },
      'Succeeded',
    ],
  ])('of a pod that is: %s', (_name, input, phase) => expect(status(input).phase).toBe(phase));
});

describe('the status of a container', () => {
  test('of a running container has all fields', () => {
    const [one] =
      status({ runtime: runtime([run({ startedAt: '1893456000123456789', imageRef: 'sha256:b' })]) })
        .containerStatuses ?? [];
    expect(one).toEqual({
      name: 'c',
      image: 'busybox',
      imageID: 'sha256:b',
      containerID: 'containerd://c-0',
      ready: true,
      started: true,
      restartCount: 0,
      resources: {},
      state: { running: { startedAt: '2030-01-01T00:00:00Z' } },
      lastState: {},
    });
  });

  test('in a crash loop shows the waiting reason and the end of the last run', () => {
    const [one] =
      status({
        runtime: runtime([exited(3, { attempt: 2, reason: 'Error', message: 'boom' }), exited(3, { attempt: 1 })]),
        waiting: new Map([['c', { reason: 'CrashLoopBackOff', message: 'back-off 20s' }]]),
      }).containerStatuses ?? [];
    expect(one?.state).toEqual({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s' } });
    expect(one?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error', message: 'boom' });
    expect(one).toMatchObject({ restartCount: 2, ready: false, started: false });
  });

  test('shows a permanent end even if there is a waiting reason', () => {
    const [one] =
      status({
        pod: pod({ restartPolicy: 'Never' }),
        runtime: runtime([exited(0)]),
        waiting: new Map([['c', { reason: 'CrashLoopBackOff', message: '' }]]),
      }).containerStatuses ?? [];
    expect(one?.state?.terminated?.exitCode).toBe(0);
  });

  test('is ContainerCreating before it exists', () => {
    expect(status().containerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      imageID: '',
    });
  });
});

describe('the conditions', () => {
  test('are all true for a ready pod', () => {
    const conditions = status({ runtime: runtime([run()]) }).conditions?.map(({ type, status: is }) => `${type} ${is}`);
    expect(conditions).toEqual([
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready True',
      'ContainersReady True',
      'PodScheduled True',
    ]);
  });

  test('list the containers that are not ready', () => {
    const one = status({ pod: pod(two), runtime: runtime([run({ name: 'a' }), exited(1, { name: 'b' })]) });
    const expected = { status: 'False', reason: 'ContainersNotReady', message: 'containers with unready status: [b]' };
    expect(condition(one, 'ContainersReady')).toMatchObject(expected);
    expect(condition(one, 'Ready')).toMatchObject(expected);
  });

  test.each([
    [0, 'PodCompleted'],
    [1, 'PodFailed'],
  ])('of a pod that ended with %i are not ready because %s', (code, reason) => {
    const one = status({ pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(code)]) });
    expect(condition(one, 'Ready')).toMatchObject({ status: 'False', reason });
  });

  test('are not ready until all readiness gates are true', () => {
    const gated = pod({ readinessGates: [{ conditionType: 'x/y' }] });
    const missing = status({ pod: gated, runtime: runtime([run()]) });
    expect(condition(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    const open = { ...gated, status: { conditions: [{ type: 'x/y', status: 'True' }] } };
    const ready = status({ pod: open, runtime: runtime([run()]) });
    expect(condition(ready, 'Ready')?.status).toBe('True');
    expect(condition(ready, 'x/y')?.status).toBe('True');
  });

  test('change their times only with their status', () => {
    const before = status({ runtime: runtime([run()]) });
    const later = status({ runtime: runtime([run()]), previous: before, now: NOW + 60_000 });
    expect(later.conditions).toEqual(before.conditions);
    const unready = status({ runtime: runtime([exited(1)]), previous: before, now: NOW + 60_000 });
    expect(condition(unready, 'Ready')?.lastTransitionTime).toBe('2030-01-01T00:01:05Z');
    expect(condition(unready, 'Initialized')?.lastTransitionTime).toBe('2030-01-01T00:00:05Z');
    expect(later.startTime).toBe('2030-01-01T00:00:05Z');
  });
});

test('addresses are kept while a pod is being ended, and are the host’s for a pod in the host’s network', () => {
  const ready = status({ runtime: runtime([run()]) });
  expect(ready).toMatchObject({ podIP: '10.88.0.2', podIPs: [{ ip: '10.88.0.2' }], hostIP: '10.123.0.1' });
  const ending = status({
    runtime: runtime([exited(0)], [sandbox({ ready: false, ips: [] })]),
    previous: ready,
    ending: true,
  });
  expect(ending.podIP).toBe('10.88.0.2');
  const host = status({
    pod: pod({ hostNetwork: true }),
    runtime: runtime([run()], [sandbox({ ips: [], hostNetwork: true })]),
  });
  expect(host.podIP).toBe('10.123.0.1');
});
