import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import type { SubPathsRequest } from '@kubus/contracts';
import { ScriptedNode, podOf, runtimeReady } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

function done(): string[] {
  return node.bridge.done.splice(0);
}

const pod = podOf(
  'a',
  { volumes: [{ name: 'data', emptyDir: {} }] },
  { volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }] },
);
const mounted = { ready: true, volumes: { data: { hostPath: '/pods/a/volumes/data' } } };
const started = ['RunPodSandbox pod-a/0', 'CreateContainer main/0', 'StartContainer c2'];

test('a pod waits for its volumes before its sandbox, and its containers get them', async () => {
  await node.work(pod);
  expect(done()).toEqual([]);
  expect(node.status('a')).toMatchObject({
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
  });
  await node.volumes('a', mounted);
  expect(done()).toEqual(started);
  expect(node.bridge.configs.get('main')?.mounts?.[0]).toMatchObject({
    containerPath: '/data',
    hostPath: '/pods/a/volumes/data',
    readonly: true,
  });
});

test('a volume that cannot be mounted is waited for', async () => {
  await node.work(pod);
  const error = 'MountVolume.SetUp failed for volume "data" : no space left';
  const other = 'MountVolume.SetUp failed for volume "other" : busy';
  await node.volumes('a', { ready: false, volumes: {}, errors: [error, other] });
  expect(node.state('a')).toMatchObject({ state: 'syncing', error: `[${error}, ${other}]` });
  await node.volumes('a', mounted);
  expect(done()).toEqual(started);
  expect(node.state('a')).not.toHaveProperty('error');
});

test('a volume that no container mounts is not waited for', async () => {
  await node.work(podOf('a', { volumes: [{ name: 'data', emptyDir: {} }] }));
  expect(done()).toEqual(started);
});

test('running containers are not affected by missing volumes, and can be stopped', async () => {
  await node.work(pod);
  await node.volumes('a', mounted);
  done();
  await node.volumes('a', { ready: false, volumes: {} });
  await node.work(pod, { reason: 'look' });
  expect(done()).toEqual([]);
  await node.work(pod, { work: 'kill' });
  expect(done().slice(0, 2)).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
});

test('a pod is finished only when its volumes have been removed', async () => {
  await node.allVolumes();
  await node.work(pod);
  await node.volumes('a', mounted);
  await node.work(pod, { work: 'kill' });
  expect(node.state('a')).toMatchObject({ state: 'terminated', error: 'the pod’s volumes are not unmounted yet' });
  expect(node.undone).toEqual([]);
  await node.volumes('a', undefined);
  expect(node.undone).toEqual(['files a', 'cgroup a']);
  expect(node.state('a')?.state).toBe('finished');
});

test('a terminated pod that is still desired is cleaned up when its volumes and its cgroup have been removed', async () => {
  await node.allVolumes();
  await node.work(pod);
  await node.volumes('a', mounted);
  const metadata = { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
  await node.work({ ...pod, metadata });
  expect(node.state('a')).toMatchObject({ state: 'terminated', error: 'the pod’s volumes are not unmounted yet' });
  expect(node.state('a')).not.toHaveProperty('cleaned');
  await node.volumes('a', undefined);
  expect(node.undone).toEqual(['cgroup a']);
  expect(node.state('a')).toMatchObject({ state: 'terminated', cleaned: true });
});

test('missing volumes count as removed only when the volume manager has published all volumes', async () => {
  await node.work(pod);
  await node.volumes('a', mounted);
  await node.volumes('a', undefined);
  await node.work(pod, { work: 'kill' });
  expect(node.state('a')?.state).toBe('terminated');
  await node.allVolumes();
  expect(node.state('a')?.state).toBe('finished');
});

test('a pod’s files are not removed while something is mounted among them', async () => {
  node.files.failure = new KubusError('still-mounted', '/pods/a/volumes/data is still mounted');
  await node.work(podOf('a'));
  await node.work(podOf('a'), { work: 'kill' });
  expect(node.state('a')).toMatchObject({ state: 'terminated', error: '/pods/a/volumes/data is still mounted' });
  node.files.failure = undefined;
  await node.pass(1_000);
  expect(node.state('a')?.state).toBe('finished');
});

describe('a pod whose volume exceeds its limit', () => {
  const excess = { message: 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". ' };
  test('is evicted with the shortest grace period, and a single event', async () => {
    await node.work(pod);
    await node.volumes('a', mounted);
    done();
    await node.volumes('a', { ...mounted, excess });
    expect(done().slice(0, 2)).toEqual(['StopContainer c2 2', 'StopPodSandbox s1']);
    const { conditions = [], ...status } = node.status('a') ?? {};
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: excess.message });
    expect(conditions.filter(({ type }) => type === 'DisruptionTarget')).toEqual([]);
    expect(node.events('a').filter((text) => text.startsWith('Evicted'))).toEqual([`Evicted: ${excess.message}`]);
  });

  test('stays evicted over a restart, and when the volume becomes smaller', async () => {
    await node.work(pod);
    await node.volumes('a', mounted);
    node.bridge.before = (what) => (what.startsWith('Stop') ? Promise.reject(new Error('busy')) : Promise.resolve());
    await node.volumes('a', { ...mounted, excess });
    node.kill();
    done();
    node.bridge.before = () => Promise.resolve();
    await node.volumes('a', mounted);
    await node.start();
    await node.pass(60_000);
    expect(node.status('a')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: excess.message });
    expect(done()).toContain('StopContainer c2 2');
  });

  test('continues to run when it is a static pod', async () => {
    const annotations = { 'kubernetes.io/config.source': 'file' };
    await node.work({ ...pod, metadata: { ...pod.metadata, annotations } });
    await node.volumes('a', { ...mounted, excess });
    expect(done()).toEqual(started);
    expect(node.status('a')?.phase).not.toBe('Failed');
  });
});
describe('parts of volumes', () => {
  const parts = podOf(
    'a',
    { volumes: [{ name: 'data', emptyDir: {} }] },
    {
      env: [{ name: 'WHO', value: 'me' }],
      volumeMounts: [
        { name: 'data', mountPath: '/whole' },
        { name: 'data', mountPath: '/part', subPath: 'a/b' },
        { name: 'data', mountPath: '/mine', subPathExpr: 'of/$(WHO)' },
      ],
    },
  );
  const hostPaths = () => node.bridge.configs.get('main')?.mounts?.map(({ hostPath }) => hostPath);

  test('are requested at each start, with the variables of their paths', async () => {
    const asked: SubPathsRequest[] = [];
    node.subPaths = (request) => {
      asked.push(request);
      return Promise.resolve({ 1: `/part/${asked.length}`, 2: '/mine' });
    };
    await node.work(parts);
    await node.volumes('a', mounted);
    expect(asked).toEqual([
      {
        ref: { namespace: 'default', name: 'pod-a', uid: 'a' },
        container: 'main',
        mounts: [
          { index: 1, volume: 'data', subPath: 'a/b' },
          { index: 2, volume: 'data', subPathExpr: 'of/$(WHO)' },
        ],
        environment: expect.objectContaining({ steps: [{ from: 'text', name: 'WHO', text: 'me' }] }),
        objects: [],
      },
    ]);
    expect(hostPaths()?.slice(0, 3)).toEqual(['/pods/a/volumes/data', '/part/1', '/mine']);
    node.bridge.exit('a', 'main', 1);
    await node.work(parts, { reason: 'look' });
    await node.pass(15_000);
    expect(hostPaths()?.slice(0, 3)).toEqual(['/pods/a/volumes/data', '/part/2', '/mine']);
  });

  test('are not requested for containers without subPaths', async () => {
    node.subPaths = () => Promise.reject(new KubusError('asked', 'in vain'));
    await node.work(pod);
    await node.volumes('a', mounted);
    expect(done()).toEqual(started);
  });

  test('that cannot be prepared prevent the container’s start, with the reason in its status', async () => {
    const message = 'failed to prepare subPath for volumeMount "data" of container "main"';
    node.subPaths = () => Promise.reject(new KubusError('CreateContainerConfigError', message));
    await node.work(parts);
    await node.volumes('a', mounted);
    expect(done()).toEqual(['RunPodSandbox pod-a/0']);
    const { waiting } = node.status('a')?.containerStatuses?.[0]?.state ?? {};
    expect(waiting).toEqual({ reason: 'CreateContainerConfigError', message });
    expect(node.eventLines('a')).toContain(`Warning Failed spec.containers{main}: Error: ${message}`);
  });

  test.each([
    ['VolumesNotReady', 1_500],
    ['ObjectsUnavailable', 15_000],
  ])('are waited for after %s', async (code, waitMs) => {
    node.subPaths = () => Promise.reject(new KubusError(code, 'not now'));
    await node.work(parts);
    await node.volumes('a', mounted);
    expect(node.state('a')).toMatchObject({ error: 'not now' });
    expect(node.status('a')?.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(node.events('a').filter((event) => event.startsWith('Failed'))).toEqual([]);
    node.subPaths = () => Promise.resolve({ 1: '/part', 2: '/mine' });
    await node.pass(waitMs);
    expect(done()).toEqual(started);
  });
});

test('a block volume becomes a device, and is waited for like other volumes', async () => {
  const volumeDevices = [{ name: 'disk', devicePath: '/dev/xvda' }];
  await node.work(podOf('a', { volumes: [{ name: 'disk', emptyDir: {} }] }, { volumeDevices }));
  expect(done()).toEqual([]);
  await node.volumes('a', { ready: true, volumes: { disk: { hostPath: '/dev/loop7', device: true } } });
  expect(node.bridge.configs.get('main')?.devices).toEqual([
    { containerPath: '/dev/xvda', hostPath: '/dev/loop7', permissions: 'mrw' },
  ]);
});

test('the groups of volumes are added to all processes, each once', async () => {
  const spec = { volumes: [{ name: 'data', emptyDir: {} }], securityContext: { supplementalGroups: [5, 7] } };
  await node.work(podOf('a', spec, { volumeMounts: [{ name: 'data', mountPath: '/data' }] }));
  await node.volumes('a', { ...mounted, supplementalGroups: [7, 1234] });
  const groups = ['5', '7', '1234'];
  expect(node.bridge.configs.get('main')?.linux?.securityContext?.supplementalGroups).toEqual(groups);
  expect(node.bridge.sandboxConfig?.linux?.securityContext?.supplementalGroups?.toSorted()).toEqual(groups.toSorted());
});

test('mounts are recursively read-only where the runtime supports it, and the status shows it', async () => {
  const volumeMounts = [{ name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly: 'Enabled' }];
  const recursive = podOf('a', { volumes: [{ name: 'data', emptyDir: {} }] }, { volumeMounts });
  await node.work(recursive);
  await node.volumes('a', mounted);
  const said = () => node.status('a')?.containerStatuses?.[0]?.volumeMounts?.[0]?.recursiveReadOnly;
  const refusal = 'volume "data" requested recursive read-only mode, but it is not supported by the runtime';
  expect(node.events('a')).toContain(`Failed: Error: failed to resolve recursive read-only mode: ${refusal}`);
  expect([done(), said()]).toEqual([['RunPodSandbox pod-a/0'], 'Disabled']);
  const features = { userNamespaces: false, recursiveReadOnlyMounts: true };
  node.setRuntime({ ...runtimeReady, handlers: { '': features } });
  await node.pass(15_000);
  expect(node.bridge.configs.get('main')?.mounts?.[0]).toMatchObject({ readonly: true, recursiveReadOnly: true });
  expect(said()).toBe('Enabled');
});
