import { beforeEach, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

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

test('a volume that can not be mounted is told, and waited for', async () => {
  await node.work(pod);
  const error = 'MountVolume.SetUp failed for volume "data" : no space left';
  const other = 'MountVolume.SetUp failed for volume "other" : busy';
  await node.volumes('a', { ready: false, volumes: {}, errors: [error, other] });
  expect(node.told('a')).toEqual([`Warning FailedMount -: ${error}`, `Warning FailedMount -: ${other}`]);
  expect(node.state('a')).toMatchObject({ state: 'syncing', error: `[${error}, ${other}]` });
  await node.volumes('a', mounted);
  expect(done()).toEqual(started);
  expect(node.state('a')).not.toHaveProperty('error');
});

test('a volume that no container mounts is not waited for', async () => {
  await node.work(podOf('a', { volumes: [{ name: 'data', emptyDir: {} }] }));
  expect(done()).toEqual(started);
});

test('what runs is left alone, and stopped, when its volumes are not there any more', async () => {
  await node.work(pod);
  await node.volumes('a', mounted);
  done();
  await node.volumes('a', { ready: false, volumes: {} });
  await node.work(pod, { reason: 'look' });
  expect(done()).toEqual([]);
  await node.work(pod, { work: 'kill' });
  expect(done().slice(0, 2)).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
});

test('a pod is forgotten only when its volumes are gone', async () => {
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

test('a pod that is over and still wanted is cleaned when its volumes and its cgroup are gone', async () => {
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

test('nothing heard of a pod’s volumes means something only when all has been told', async () => {
  await node.work(pod);
  await node.volumes('a', mounted);
  await node.volumes('a', undefined);
  await node.work(pod, { work: 'kill' });
  expect(node.state('a')?.state).toBe('terminated');
  await node.allVolumes();
  expect(node.state('a')?.state).toBe('finished');
});

test('what is still mounted among a pod’s files is not removed with them', async () => {
  node.files.failure = new KubusError('still-mounted', '/pods/a/volumes/data is still mounted');
  await node.work(podOf('a'));
  await node.work(podOf('a'), { work: 'kill' });
  expect(node.state('a')).toMatchObject({ state: 'terminated', error: '/pods/a/volumes/data is still mounted' });
  node.files.failure = undefined;
  await node.pass(1_000);
  expect(node.state('a')?.state).toBe('finished');
});
