import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { cgroupMounts, cgroupTree } from '@kubus/cgroup';
import type { PodCondition, ResourceList, ResourceRequirements } from '@kubus/contracts';
import { type ApiSource, type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import { sharedApiNode } from '../src/api-node.ts';
import { containerStatus, eventMessages, eventReasons } from '../src/pod-facts.ts';
import { container, pod } from '../src/pods.ts';

const MEBIBYTE = 1024 * 1024;

let node: TestNode;
let api: ApiSource;

sharedApiNode(async (parts) => {
  ({ node, api } = parts);
  // One CPU is allocatable for pods on any machine.
  const kept = `${availableParallelism() - 1}`;
  await node.reconfigure((config) => ({ ...config, reserved: { ...config.reserved, system: { cpu: kept } } }));
  await node.restart('sync-loop-0');
});

afterEach(async () => {
  await Promise.all(api.pods.map(({ metadata }) => api.delete(metadata.uid)));
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
});

/** Stores a pod with one container of these resources; returns its UID. */
function create(name: string, resources: ResourceRequirements): string {
  const manifest = pod(name, { containers: [container({ name: 'main', resources })] });
  return api.create(JSON.stringify(manifest)).metadata.uid;
}

function resizeConditions({ status }: WatchedPod): PodCondition[] {
  return (status?.conditions ?? []).filter(({ type }) => type.startsWith('PodResize'));
}

/** The limits of a cgroup in the kernel, by the last part of its path: microseconds of CPU in 100 ms, and bytes. */
async function kernelLimits(name: string): Promise<{ cpu: number; memory: number }> {
  const { version, controllers } = await cgroupMounts();
  const folders = await cgroupTree(node.dir.cgroupRoot);
  const read = async (controller: string, file: string) => {
    const mount = controllers.get(controller) ?? '';
    const folder = folders.find((path) => path.startsWith(`${mount}/`) && path.endsWith(`/${name}`)) ?? '';
    return parseInt(await readFile(join(folder, file), 'utf8'), 10);
  };
  return version === 1
    ? { cpu: await read('cpu', 'cpu.cfs_quota_us'), memory: await read('memory', 'memory.limit_in_bytes') }
    : { cpu: await read('cpu', 'cpu.max'), memory: await read('memory', 'memory.max') };
}

test('a pod that does not fit fails for good, and running pods stay, whichever service restarts', async () => {
  create('first', { requests: { cpu: '500m' } });
  const first = await node.watch.waitForPod('first');
  create('second', { requests: { cpu: '600m' } });
  const isRejected = ({ status }: WatchedPod) => status?.phase === 'Failed';
  const second = await node.watch.waitForPod('second', isRejected);
  const message = "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000";
  expect(second.status).toEqual({
    phase: 'Failed',
    reason: 'OutOfcpu',
    message: `Pod was rejected: ${message}`,
    conditions: [],
    qosClass: 'Burstable',
    startTime: expect.any(String),
    observedGeneration: 1,
  });
  const reasons = await node.watch.until('an event of the rejected pod', () => {
    const seen = eventReasons(node, second);
    return seen.length > 0 ? seen : undefined;
  });
  expect(reasons).toEqual(['Warning OutOfcpu']);
  expect(eventMessages(node, second, 'OutOfcpu')).toEqual([message]);

  for (const service of ['sync-loop-0', 'pod-workers-0']) await node.restart(service);
  // A decision after the restart: rejected pods use no resources, running ones do.
  create('third', { requests: { cpu: '500m' } });
  await node.watch.waitForPod('third');
  expect((await node.watch.waitForPod('second', isRejected)).status).toEqual(second.status);
  expect(eventMessages(node, second, 'OutOfcpu')).toEqual([message]);
  const still = await node.watch.waitForPod('first');
  expect(containerStatus(still)).toEqual(containerStatus(first));
});

test('a resize is done in place, is deferred while other pods use the resources, and keeps the QoS class of the pod', async () => {
  const other = create('other', { requests: { cpu: '600m' } });
  const resources = (cpu: string, memory: string, requests: ResourceList = { cpu: '100m', memory: '32Mi' }) => ({
    limits: { cpu, memory },
    requests,
  });
  const uid = create('sized', resources('200m', '64Mi'));
  const began = containerStatus(await node.watch.waitForPod('sized'));
  const id = began?.containerID?.split('//')[1] ?? '';
  await node.watch.waitForPod('other');

  /** Waits until the pod has the resources of its last resize; returns the kernel's limits of its container. */
  const given = async (cpu: string, memory: string) => {
    const one = await node.watch.waitForPod('sized', (now) => {
      const { limits } = containerStatus(now)?.resources ?? {};
      return limits?.['cpu'] === cpu && limits['memory'] === memory && resizeConditions(now).length === 0;
    });
    expect(isReady(one)).toBe(true);
    expect(containerStatus(one)).toMatchObject({ containerID: began?.containerID, restartCount: 0 });
    const limits = await kernelLimits(id);
    expect(await kernelLimits(`pod${uid}`)).toEqual(limits);
    return limits;
  };
  expect(await given('200m', '64Mi')).toEqual({ cpu: 20_000, memory: 64 * MEBIBYTE });
  api.resize(uid, 'main', resources('300m', '64Mi'));
  expect(await given('300m', '64Mi')).toEqual({ cpu: 30_000, memory: 64 * MEBIBYTE });
  api.resize(uid, 'main', resources('300m', '128Mi'));
  expect(await given('300m', '128Mi')).toEqual({ cpu: 30_000, memory: 128 * MEBIBYTE });

  /** Waits until the pod's status has the reason why its last resize is not done. */
  const pending = async (reason: string) => {
    const one = await node.watch.waitForPod('sized', (now) => resizeConditions(now)[0]?.reason === reason, reason);
    expect(await kernelLimits(id)).toEqual({ cpu: 30_000, memory: 128 * MEBIBYTE });
    return resizeConditions(one);
  };
  const guaranteed = resources('300m', '128Mi', { cpu: '300m', memory: '128Mi' });
  expect(() => api.resize(uid, 'main', guaranteed)).toThrow('Pod QOS Class may not change as a result of resizing');
  api.resize(uid, 'main', resources('900m', '96Mi', { cpu: '700m', memory: '32Mi' }));
  expect(await pending('Deferred')).toMatchObject([
    {
      type: 'PodResizePending',
      status: 'True',
      message: "Node didn't have enough resource: cpu, requested: 700, used: 600, capacity: 1000",
      observedGeneration: 4,
    },
  ]);
  await api.delete(other);
  expect(await given('900m', '96Mi')).toEqual({ cpu: 90_000, memory: 96 * MEBIBYTE });
  const sized = await node.watch.waitForPod('sized');
  expect(eventReasons(node, sized).filter((reason) => reason.includes('Resize'))).toEqual([
    'Normal ResizeStarted',
    'Normal ResizeCompleted',
    'Warning ResizeDeferred',
  ]);
});
