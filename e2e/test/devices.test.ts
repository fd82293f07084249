import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { PodSpec, ResourceList } from '@kubus/contracts';
import { type TestNode, TestDevicePlugin, type WatchedPod } from '@kubus/harness';
import type { Cluster, KubeObject } from '@kubus/kube-fixture';
import { callPlugin } from '@kubus/node-plugins';
import { PodResourcesListerService } from '@kubus/proto/pod-resources-grpc';
import { sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { eventReasons } from '../src/pod-facts.ts';
import { container } from '../src/pods.ts';

const RESOURCE = 'example.com/device';
const OTHER = 'example.com/other';

let node: TestNode;
let cluster: Cluster;
let pods: ClusterPods;
let plugin: TestDevicePlugin;
const plugins: TestDevicePlugin[] = [];

// A plugin has its socket in a folder of the node: it is ended before the node.
afterAll(async () => {
  for (const one of plugins) await one.remove();
});
sharedClusterNode({}, async (parts) => {
  ({ node } = parts);
  cluster = parts.cluster.api;
  pods = new ClusterPods(parts);
  plugin = await startPlugin(RESOURCE, ['one', 'two'], { preStart: true });
});

afterEach(async () => {
  for (const one of node.watch.pods) await pods.remove(one);
});

async function startPlugin(
  resource: string,
  ids: readonly string[],
  more: { preStart?: boolean; registry?: string } = {},
) {
  const one = await TestDevicePlugin.start({
    ...{ resource, folder: join(node.dir.pods, 'device-plugins'), mount: join(node.folder, 'manifests') },
    devices: ids.map((id) => ({ id })),
    ...more,
  });
  plugins.push(one);
  await one.untilRegistered();
  return one;
}

/** Resolves when the Node object has this capacity and allocatable number of devices. */
async function untilNodeHas(resource: string, capacity: number, allocatable: number): Promise<void> {
  const of = (list: unknown) => (list as ResourceList | undefined)?.[resource];
  await cluster.waitFor({ kind: 'Node', name: node.name }, ({ status }: KubeObject) => {
    return of(status?.['capacity']) === String(capacity) && of(status?.['allocatable']) === String(allocatable);
  });
}

/** The spec of a pod whose container requests a number of devices. */
function having(count: number, resource = RESOURCE): Partial<PodSpec> {
  const amounts = { [resource]: String(count) };
  return { containers: [container({ name: 'main', resources: { limits: amounts, requests: amounts } })] };
}

const hasFailed = ({ status }: WatchedPod) => status?.phase === 'Failed';

/** The devices in a container's environment. */
async function devicesOf(name: string): Promise<string[]> {
  const [listed = ''] = await pods.inside(name, 'main', 'echo $TEST_DEVICES');
  return listed.split(',');
}

/** The devices of a pod's container in the pod resources API. */
async function listedDevices(podName: string): Promise<readonly string[]> {
  const callee = { socket: join(node.dir.pods, 'pod-resources', 'kubelet.sock'), limitMs: 10_000 };
  const { podResources } = await callPlugin(callee, PodResourcesListerService.get, {
    podName,
    podNamespace: 'default',
  });
  return (podResources?.containers ?? []).flatMap(({ devices }) => devices.flatMap(({ deviceIds }) => deviceIds));
}

test('the Node has the devices of a plugin, and a pod gets their settings at each start', async () => {
  await untilNodeHas(RESOURCE, 2, 2);
  const one = await pods.run('one', having(1));
  const [device = ''] = await devicesOf('one');
  expect(['one', 'two']).toContain(device);
  expect(await pods.inside('one', 'main', `test -c /dev/${device} && ls -d /test-device/device`)).toEqual([
    '/test-device/device',
  ]);
  expect(await plugin.requests('preStart')).toEqual([{ devicesIds: [device] }]);
  const { containers } = await node.cri('ListContainers', {});
  const [made] = (containers ?? []).filter(({ labels }) => labels?.['io.kubernetes.pod.uid'] === one.ref.uid);
  expect(made?.annotations?.['test.kubus/devices']).toBe(device);
  expect(await listedDevices('one')).toEqual([device]);

  // The same devices at its next start, of which the plugin is notified.
  await pods.inside('one', 'main', 'kill 1').catch(() => undefined);
  await node.watch.waitForPod('one', ({ status }) => {
    const [main] = status?.containerStatuses ?? [];
    return main?.restartCount === 1 && main.ready;
  });
  expect(await devicesOf('one')).toEqual([device]);
  expect(await plugin.requests('allocate')).toHaveLength(1);
  expect(await plugin.requests('preStart')).toHaveLength(2);
});

test('pods for which no device is left, and pods whose allocation a plugin refuses, fail for good', async () => {
  await pods.run('both', having(2));
  const many = await pods.run('many', having(1), hasFailed);
  const short = `requested number of devices unavailable for ${RESOURCE}. Requested: 1, Available: 0`;
  const tooMany = `Allocate failed due to ${short}, which is unexpected`;
  expect(many.status).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: `Pod was rejected: ${tooMany}`,
  });
  expect(eventReasons(node, many)).toEqual(['Warning UnexpectedAdmissionError']);
  const other = await startPlugin(OTHER, ['o'], { registry: join(node.dir.pods, 'plugins_registry') });
  await untilNodeHas(OTHER, 1, 1);
  await other.disturb({ method: 'allocate', what: 'fail' });
  const refused = await pods.run('refused', having(1, OTHER), hasFailed);
  const why = 'rpc error: code = Unknown desc = allocate fails as the test wants';
  expect(refused.status).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: `Pod was rejected: Allocate failed due to ${why}, which is unexpected`,
  });
  expect(eventReasons(node, refused)).toEqual(['Warning UnexpectedAdmissionError']);
  // Nothing was allocated: the device is free.
  await pods.run('next', having(1, OTHER));
  expect(await devicesOf('next')).toEqual(['o']);
});

test('unhealthy devices are not allocated, nor are those of a plugin that has ended; running pods stay', async () => {
  const one = await pods.run('one', having(1));
  await plugin.setDevices([{ id: 'one', healthy: false }, { id: 'two' }]);
  await untilNodeHas(RESOURCE, 2, 1);
  const [device = ''] = await devicesOf('one');
  const health = device === 'one' ? 'Unhealthy' : 'Healthy';
  await node.watch.waitForPod('one', ({ status }) => {
    const [listed] = status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
    return (
      listed?.name === RESOURCE && listed.resources?.[0]?.resourceID === device && listed.resources[0].health === health
    );
  });
  await plugin.setDevices([{ id: 'one' }, { id: 'two' }]);
  await untilNodeHas(RESOURCE, 2, 2);
  await plugin.kill();
  await untilNodeHas(RESOURCE, 2, 0);
  const late = await pods.run('late', having(1), hasFailed);
  expect(late.status).toMatchObject({ reason: 'UnexpectedAdmissionError' });
  await plugin.live();
  await untilNodeHas(RESOURCE, 2, 2);
  expect(node.watch.pod(one.ref.uid)?.status?.containerStatuses).toMatchObject([{ restartCount: 0, ready: true }]);
});

test('devices stay with their pod whichever process is killed, and are free when it has ended', async () => {
  const one = await pods.run('one', having(1));
  const [device = ''] = await devicesOf('one');
  const [other] = ['one', 'two'].filter((id) => id !== device);
  const lives = plugin.registrations.length;
  for (const instance of ['node-agent-0', 'sync-loop-0', 'pod-workers-0']) await node.restart(instance);
  await plugin.until(() => plugin.registrations.length > lives);
  // While the plugin does not answer, the pod that requests its device waits.
  const two = await pods.run('two', having(1));
  expect(await devicesOf('two')).toEqual([other]);
  expect(node.watch.pod(one.ref.uid)?.status?.containerStatuses).toMatchObject([{ restartCount: 0, ready: true }]);
  await pods.remove(one);
  await pods.run('three', having(1));
  expect(await devicesOf('three')).toEqual([device]);
  expect(await listedDevices('three')).toEqual([device]);
  await pods.remove(two);
});
