import { describe, expect, test } from '@jest/globals';
import type { ContainerStatus, PodSandbox, PodSandboxStatus } from '@kubus/proto/cri';
import { containerState, newestFirst, podRefOf, toContainer, toSandbox } from './convert.ts';

const labels = {
  'io.kubernetes.pod.uid': 'u1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
};

test('a pod is identified by its labels; without a UID label it is not ours', () => {
  expect(podRefOf({ labels })).toEqual({ uid: 'u1', name: 'web', namespace: 'default' });
  expect(podRefOf({ labels: { 'io.kubernetes.pod.uid': 'u1' } })).toEqual({ uid: 'u1', name: '', namespace: '' });
  expect(podRefOf({ labels: { app: 'x' } })).toBeUndefined();
  expect(podRefOf({})).toBeUndefined();
});

test.each([
  ['CONTAINER_CREATED', 'created'],
  ['CONTAINER_RUNNING', 'running'],
  ['CONTAINER_EXITED', 'exited'],
  ['CONTAINER_UNKNOWN', 'unknown'],
  ['UNRECOGNIZED', 'unknown'],
  [undefined, 'unknown'],
] as const)('the state %s is %s', (state, expected) => {
  expect(containerState(state === undefined ? {} : { state })).toBe(expected);
});

describe('a sandbox', () => {
  const listed: PodSandbox = {
    id: 's1',
    metadata: { name: 'web', uid: 'u1', namespace: 'default', attempt: 2 },
    state: 'SANDBOX_READY',
    createdAt: '1700000000000000001',
    runtimeHandler: 'kubus',
  };
  const status = (mode: 'POD' | 'NODE', more: Partial<PodSandboxStatus> = {}): PodSandboxStatus => ({
    state: 'SANDBOX_READY',
    linux: { namespaces: { options: { network: mode } } },
    ...more,
  });

  test('has the values of its list entry and status, the primary address first', () => {
    const network = { ip: '10.0.0.2', additionalIps: [{ ip: 'fd00::2' }, { ip: '' }] };
    expect(toSandbox(listed, status('POD', { network }))).toEqual({
      id: 's1',
      attempt: 2,
      ready: true,
      createdAt: '1700000000000000001',
      ips: ['10.0.0.2', 'fd00::2'],
      hostNetwork: false,
      runtimeHandler: 'kubus',
    });
  });

  test.each([
    ['in the host’s network has no address', status('NODE', { network: { ip: '' } }), { ips: [], hostNetwork: true }],
    ['without namespaces in its status reports no network', { state: 'SANDBOX_READY' } as const, { ips: [] }],
    ['that has ended since it was listed is not ready', status('POD', { state: 'SANDBOX_NOTREADY' }), { ready: false }],
  ])('%s', (_what, read, expected) => {
    expect(toSandbox(listed, read)).toMatchObject(expected);
    expect('hostNetwork' in toSandbox(listed, read)).toBe('linux' in read);
  });

  test('without a status has the values of its list entry', () => {
    expect(toSandbox({ ...listed, state: 'SANDBOX_NOTREADY' }, undefined)).toMatchObject({ ready: false, ips: [] });
    expect(toSandbox({}, undefined)).toEqual({
      id: '',
      attempt: 0,
      ready: false,
      createdAt: '0',
      ips: [],
      runtimeHandler: '',
    });
  });
});

describe('a container', () => {
  const status: ContainerStatus = {
    id: 'c1',
    metadata: { name: 'app', attempt: 3 },
    labels: { ...labels, 'io.kubernetes.container.name': 'main' },
    annotations: { 'io.kubernetes.container.hash': 'abc', 'other.example/x': 'y' },
    state: 'CONTAINER_EXITED',
    createdAt: '1',
    startedAt: '2',
    finishedAt: '3',
    exitCode: 137,
    reason: 'OOMKilled',
    message: 'm',
    image: { image: 'sha256:1', userSpecifiedImage: 'busybox' },
    imageRef: 'busybox@sha256:2',
    imageId: 'sha256:1',
    logPath: '/var/log/x',
  };

  test('has the values of its status, and only the annotations that identify it', () => {
    expect(toContainer({ id: 'c1', podSandboxId: 's1' }, status)).toEqual({
      id: 'c1',
      name: 'main',
      attempt: 3,
      sandboxId: 's1',
      state: 'exited',
      createdAt: '1',
      startedAt: '2',
      finishedAt: '3',
      exitCode: 137,
      reason: 'OOMKilled',
      message: 'm',
      image: 'busybox',
      imageRef: 'busybox@sha256:2',
      imageId: 'sha256:1',
      logPath: '/var/log/x',
      annotations: { 'io.kubernetes.container.hash': 'abc' },
    });
  });

  test('has a termination log file once it has ended, wherever the runtime mounts it', () => {
    const annotations = { 'io.kubernetes.container.terminationMessagePath': '/end' };
    const mounts = [
      { containerPath: '/data', hostPath: '/a' },
      { containerPath: '/end', hostPath: '/b' },
    ];
    expect(toContainer({}, { ...status, annotations, mounts }).terminationLog).toBe('/b');
    expect(toContainer({}, { ...status, mounts })).not.toHaveProperty('terminationLog');
    const running = { ...status, annotations, mounts, state: 'CONTAINER_RUNNING' } as const;
    expect(toContainer({}, running)).not.toHaveProperty('terminationLog');
  });

  test('has the image name that is known when the runtime reports less', () => {
    const { labels: _labels, image: _image, ...less } = status;
    const read = toContainer({ id: 'c1' }, { ...less, image: { image: 'sha256:1' } });
    expect(read).toMatchObject({ name: 'app', image: 'sha256:1', sandboxId: '' });
    const named = toContainer({ id: 'c1' }, { ...less, image: { image: 'busybox:1', userSpecifiedImage: '' } });
    expect(named.image).toBe('busybox:1');
    expect(toContainer({}, {})).toMatchObject({ id: '', name: '', state: 'unknown', startedAt: '0', exitCode: 0 });
  });
});

test('newest first: by attempt, then by time, which exceeds the range of a number', () => {
  const of = (attempt: number, createdAt: string) => ({ attempt, createdAt });
  const a = of(0, '1700000000000000002');
  const b = of(0, '1700000000000000001');
  const c = of(1, '1');
  expect([b, a, c].sort(newestFirst)).toEqual([c, a, b]);
  expect([a, c, b].sort(newestFirst)).toEqual([c, a, b]);
});
