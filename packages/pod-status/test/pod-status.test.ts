import { exited, pod, run, runtime, sandbox } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import { type PodStatusInput, qosClass } from '../src/index.ts';
import { NOW, condition, status } from './make-status.ts';

const two = {
  containers: [
    { name: 'a', image: 'busybox' },
    { name: 'b', image: 'busybox' },
  ],
};

describe('phase', () => {
  test.each<[string, Partial<PodStatusInput>, string]>([
    ['nothing there yet', {}, 'Pending'],
    ['running', { runtime: runtime([run()]) }, 'Running'],
    ['one of two not started', { pod: pod(two), runtime: runtime([run({ name: 'a' })]) }, 'Pending'],
    ['ended and to be restarted', { runtime: runtime([exited(1)]) }, 'Running'],
    ['ended well for good', { pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(0)]) }, 'Succeeded'],
    ['ended badly for good', { pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(3)]) }, 'Failed'],
    ['OnFailure, ended well', { pod: pod({ restartPolicy: 'OnFailure' }), runtime: runtime([exited(0)]) }, 'Succeeded'],
    ['OnFailure, ended badly', { pod: pod({ restartPolicy: 'OnFailure' }), runtime: runtime([exited(1)]) }, 'Running'],
    [
      'one ran its course, one runs',
      {
        pod: pod({ ...two, restartPolicy: 'Never' }),
        runtime: runtime([exited(0, { name: 'a' }), run({ name: 'b' })]),
      },
      'Running',
    ],
    ['being ended, all stopped with failure', { runtime: runtime([exited(137)]), ending: true }, 'Failed'],
    ['being ended, all stopped well', { runtime: runtime([exited(0)]), ending: true }, 'Succeeded'],
    ['terminal once, terminal for ever', { runtime: runtime([run()]), previous: { phase: 'Failed' } }, 'Failed'],
    [
      'terminal in the API',
      { pod: { ...pod(), status: { phase: 'Succeeded' } }, runtime: runtime([run()]) },
      'Succeeded',
    ],
  ])('%s', (_name, input, phase) => expect(status(input).phase).toBe(phase));
});

describe('container statuses', () => {
  test('a running container', () => {
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

  test('a crash loop shows why it waits, and how the last run ended', () => {
    const [one] =
      status({
        runtime: runtime([exited(3, { attempt: 2, reason: 'Error', message: 'boom' }), exited(3, { attempt: 1 })]),
        waiting: new Map([['c', { reason: 'CrashLoopBackOff', message: 'back-off 20s' }]]),
      }).containerStatuses ?? [];
    expect(one?.state).toEqual({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s' } });
    expect(one?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error', message: 'boom' });
    expect(one).toMatchObject({ restartCount: 2, ready: false, started: false });
  });

  test('a reason to wait does not hide a run that ended for good', () => {
    const [one] =
      status({
        pod: pod({ restartPolicy: 'Never' }),
        runtime: runtime([exited(0)]),
        waiting: new Map([['c', { reason: 'CrashLoopBackOff', message: '' }]]),
      }).containerStatuses ?? [];
    expect(one?.state?.terminated?.exitCode).toBe(0);
  });

  test('one that is not there yet is being created', () => {
    expect(status().containerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      imageID: '',
    });
  });
});

describe('conditions', () => {
  test('a ready pod has all of them', () => {
    const conditions = status({ runtime: runtime([run()]) }).conditions?.map(({ type, status: is }) => `${type} ${is}`);
    expect(conditions).toEqual([
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready True',
      'ContainersReady True',
      'PodScheduled True',
    ]);
  });

  test('an unready pod names its containers', () => {
    const one = status({ pod: pod(two), runtime: runtime([run({ name: 'a' }), exited(1, { name: 'b' })]) });
    const expected = { status: 'False', reason: 'ContainersNotReady', message: 'containers with unready status: [b]' };
    expect(condition(one, 'ContainersReady')).toMatchObject(expected);
    expect(condition(one, 'Ready')).toMatchObject(expected);
  });

  test.each([
    [0, 'PodCompleted'],
    [1, 'PodFailed'],
  ])('a pod that ended with %i is not ready because %s', (code, reason) => {
    const one = status({ pod: pod({ restartPolicy: 'Never' }), runtime: runtime([exited(code)]) });
    expect(condition(one, 'Ready')).toMatchObject({ status: 'False', reason });
  });

  test('a readiness gate holds the pod back until it is true', () => {
    const gated = pod({ readinessGates: [{ conditionType: 'x/y' }] });
    const missing = status({ pod: gated, runtime: runtime([run()]) });
    expect(condition(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    const open = { ...gated, status: { conditions: [{ type: 'x/y', status: 'True' }] } };
    const ready = status({ pod: open, runtime: runtime([run()]) });
    expect(condition(ready, 'Ready')?.status).toBe('True');
    expect(condition(ready, 'x/y')?.status).toBe('True');
  });

  test('times change only with the condition', () => {
    const before = status({ runtime: runtime([run()]) });
    const later = status({ runtime: runtime([run()]), previous: before, now: NOW + 60_000 });
    expect(later.conditions).toEqual(before.conditions);
    const unready = status({ runtime: runtime([exited(1)]), previous: before, now: NOW + 60_000 });
    expect(condition(unready, 'Ready')?.lastTransitionTime).toBe('2030-01-01T00:01:05Z');
    expect(condition(unready, 'Initialized')?.lastTransitionTime).toBe('2030-01-01T00:00:05Z');
    expect(later.startTime).toBe('2030-01-01T00:00:05Z');
  });
});

test('addresses stay visible while a pod ends, and are the host’s for a pod in its network', () => {
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

test.each([
  [{}, 'BestEffort'],
  [{ requests: { cpu: '100m' } }, 'Burstable'],
  [{ requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ requests: { cpu: '0.1', memory: '1024Mi' }, limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ limits: { cpu: '100m', memory: '1Gi' } }, 'Guaranteed'],
  [{ limits: { cpu: '100m' } }, 'Burstable'],
])('%j is %s', (resources, qos) => {
  expect(qosClass(pod({ containers: [{ name: 'c', resources }] }))).toBe(qos);
});

test('what a pod says as a whole decides its class', () => {
  const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }];
  const limits = { cpu: '2', memory: '1Gi' };
  expect(qosClass(pod({ containers, resources: { limits, requests: limits } }))).toBe('Guaranteed');
  expect(qosClass(pod({ containers, resources: { limits } }))).toBe('Guaranteed');
  expect(qosClass(pod({ resources: { requests: { memory: '1Gi' } } }))).toBe('Burstable');
  expect(qosClass(pod({ resources: { limits: { 'hugepages-2Mi': '4Mi' } } }))).toBe('BestEffort');
});
