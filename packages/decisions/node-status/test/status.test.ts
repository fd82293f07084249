import { expect, test } from '@jest/globals';
import { isReady, saysSomethingNew, withStatus } from '../src/index.ts';
import { node, statusInput } from './make.ts';

const LATER = '2030-01-01T00:05:00Z';
const { node: healthy, events: first } = withStatus(node(), statusInput());

test('a new Node object gets events about its pressure conditions, but not about becoming ready', () => {
  expect(isReady(healthy)).toBe(true);
  expect(first.map(({ reason }) => reason)).toEqual([
    'NodeHasSufficientMemory',
    'NodeHasNoDiskPressure',
    'NodeHasSufficientPID',
  ]);
  expect(first[0]).toEqual({
    type: 'Normal',
    reason: 'NodeHasSufficientMemory',
    message: 'Node node0 status is now: NodeHasSufficientMemory',
  });
  expect(healthy.status.conditions?.map(({ type }) => type)).toEqual([
    'MemoryPressure',
    'DiskPressure',
    'PIDPressure',
    'Ready',
  ]);
});

test('an unchanged status has only new heartbeat times', () => {
  const { node: later, events } = withStatus(healthy, statusInput({ now: LATER }));
  expect(events).toEqual([]);
  expect(saysSomethingNew(healthy, later)).toBe(false);
  expect(later.status.conditions?.[3]).toMatchObject({
    lastHeartbeatTime: LATER,
    lastTransitionTime: '2030-01-01T00:00:00Z',
  });
});

test('problems make the node not ready, and are listed in order, each once', () => {
  const { node: broken, events } = withStatus(healthy, statusInput({ now: LATER, problems: ['a', 'b', 'a'] }));
  expect(broken.status.conditions?.[3]).toEqual({
    type: 'Ready',
    status: 'False',
    lastHeartbeatTime: LATER,
    lastTransitionTime: LATER,
    reason: 'KubeletNotReady',
    message: '[a, b]',
  });
  expect(events.map(({ reason }) => reason)).toEqual(['NodeNotReady']);
  expect(saysSomethingNew(healthy, broken)).toBe(true);
  const { events: back } = withStatus(broken, statusInput());
  expect(back.map(({ reason }) => reason)).toEqual(['NodeReady']);
});

test('pressure changes the conditions', () => {
  const pressure = { memory: true, disk: true, pid: true };
  const { node: pressed, events } = withStatus(healthy, statusInput({ now: LATER, pressure }));
  expect(pressed.status.conditions?.slice(0, 3).map(({ reason, message }) => [reason, message])).toEqual([
    ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
    ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
  ]);
  expect(events.map(({ reason }) => reason)).toEqual([
    'NodeHasInsufficientMemory',
    'NodeHasDiskPressure',
    'NodeHasInsufficientPID',
  ]);
});

test('values that others have set on the Node object are kept', () => {
  const others = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' };
  const existing = node({
    metadata: { labels: { mine: 'x', 'kubernetes.io/os': 'plan9' }, annotations: { a: 'b', own: 'old', gone: 'x' } },
    status: {
      conditions: [others],
      capacity: { 'example.com/dongle': '4', memory: '1' },
      allocatable: { 'example.com/dongle': '3', 'example.com/gone': '1' },
      volumesInUse: ['v'],
      volumesAttached: [{ name: 'v', devicePath: '/dev/v' }],
      images: [{ names: ['a'], sizeBytes: 1 }],
      nodeInfo: { bootID: 'boot', containerRuntimeVersion: 'containerd://2' },
    },
  });
  const unknown = { runtime: undefined, images: undefined, addresses: undefined, port: undefined };
  const own = { annotations: { own: 'new', gone: undefined } };
  const { metadata, status } = withStatus(existing, statusInput({ ...unknown, ...own })).node;
  expect(metadata.labels).toEqual({ mine: 'x', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' });
  expect(metadata.annotations).toEqual({ a: 'b', own: 'new' });
  expect(status.conditions?.[0]).toEqual(others);
  expect(status).toMatchObject({
    capacity: { 'example.com/dongle': '4', memory: '4Gi' },
    allocatable: { 'example.com/dongle': '4', memory: '4Gi' },
    volumesInUse: ['v'],
    volumesAttached: [{ name: 'v', devicePath: '/dev/v' }],
    images: [{ names: ['a'], sizeBytes: 1 }],
    nodeInfo: { containerRuntimeVersion: 'containerd://2' },
  });
  expect(status.allocatable).not.toHaveProperty(['example.com/gone']);
  expect(status).not.toHaveProperty('addresses');
});

test('device resources are those known to the node, whatever was written before', () => {
  const before = { 'example.com/device': '4', memory: '4Gi' };
  const existing = node({ status: { capacity: before, allocatable: before } });
  const devices = { capacity: { 'example.com/device': '2' }, allocatable: { 'example.com/device': '1' } };
  const { status } = withStatus(existing, statusInput({ capacity: { memory: '4Gi' }, devices })).node;
  expect(status.capacity).toEqual({ 'example.com/device': '2', memory: '4Gi' });
  expect(status.allocatable).toMatchObject({ 'example.com/device': '1' });
});

test('an equal amount in another notation is not a change', () => {
  const existing = node({ status: { capacity: { memory: '4096Mi' }, allocatable: { memory: '4194304Ki' } } });
  const { status } = withStatus(existing, statusInput()).node;
  expect(status.capacity?.['memory']).toBe('4096Mi');
  expect(status.allocatable?.['memory']).toBe('4194304Ki');
});

test('a reboot causes one event', () => {
  const { node: rebooted, events } = withStatus(
    healthy,
    statusInput({ machine: { ...statusInput().machine, bootId: 'other' } }),
  );
  expect(events).toEqual([
    { type: 'Warning', reason: 'Rebooted', message: 'Node node0 has been rebooted, boot id: other' },
  ]);
  expect(rebooted.status.nodeInfo?.bootID).toBe('other');
});

test('runtime features are listed, with handlers in order', () => {
  const runtime = {
    ...{ ready: true, network: 'runtime' as const, networkReady: true, events: 'cri' as const },
    ...{ name: 'containerd', version: '2.1.0', strictSupplementalGroups: true },
    handlers: { runc: { userNamespaces: true, recursiveReadOnlyMounts: true }, '': { userNamespaces: false } },
  };
  const { status } = withStatus(node(), statusInput({ runtime })).node;
  expect(status).toMatchObject({
    runtimeHandlers: [
      { name: '', features: { userNamespaces: false } },
      { name: 'runc', features: { userNamespaces: true, recursiveReadOnlyMounts: true } },
    ],
    features: { supplementalGroupsPolicy: true },
    nodeInfo: { containerRuntimeVersion: 'containerd://2.1.0' },
  });
});

test('swap is reported even when the runtime is still unknown', () => {
  const machine = { ...statusInput().machine, swapBytes: 1024 };
  const { status } = withStatus(node(), statusInput({ runtime: undefined, machine })).node;
  expect(status.nodeInfo).toMatchObject({ containerRuntimeVersion: '://Unknown', swap: { capacity: 1024 } });
});

test.each([
  [-1, ['b', 'c', 'a', 'd']],
  [2, ['b', 'c']],
  [0, []],
])('with nodeStatusMaxImages %d the images %j are listed', (maxImages, names) => {
  const images = [
    { names: ['a'], sizeBytes: 2 },
    { names: ['d', '2', '3', '4', '5', '6'], sizeBytes: 1 },
    { names: ['c'], sizeBytes: 3 },
    { names: ['b'], sizeBytes: 3 },
  ];
  const { status } = withStatus(node(), statusInput({ images, maxImages })).node;
  const listed = status['images'] as { names: string[] }[];
  expect(listed.map((image) => image.names[0])).toEqual(names);
  for (const { names: listedNames } of listed) expect(listedNames.length).toBeLessThanOrEqual(5);
});
