// CPUs and memory that containers have for themselves: real files and device plugins, a described machine, and a bus in this process.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, type FactOwner } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type CpuPool,
  type NodeTopology,
  type PodWorkerReport,
  allocateDevices,
  configuredSources,
  cpuPool,
  desiredPods,
  deviceResource,
  mergedHintsSchema,
  nodeTopology,
  podWork,
  podWorker,
} from '@kubus/contracts';
import { type DevicePluginSetup, TestDevicePlugin } from '@kubus/harness';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics, type ServiceContext } from '@kubus/service-kit';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DeviceService } from '../src/devices/device-service.ts';

const GI = 1024 ** 3;

let dir: string;
let root: string;
let clock: ManualClock;
let broker: LocalBroker;
let asking: Bus;
let workers: FactOwner<PodWorkerReport>;
let pools: string[];
let topologies: Map<string, NodeTopology>;
let shown: () => void;
let poolChanged: () => void;
let life: { service: DeviceService; member: LocalMember; metrics: Metrics } | undefined;
let epoch: number;
let plugins: TestDevicePlugin[];
let plugged: () => void;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-exclusive-')));
  root = join(dir, 'root');
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  broker = new LocalBroker('node0');
  [epoch, life, pools, plugins] = [0, undefined, [], []];
  poolChanged = () => undefined;
  plugged = () => undefined;
  shown = () => undefined;
  topologies = new Map();
  asking = broker.join('sync-loop', clock).bus;
  asking.owner(podWork);
  const worker = broker.join('pod-workers', clock).bus;
  workers = worker.owner(podWorker);
  worker.reader(cpuPool, {
    changed: ({ value }: { value: CpuPool }) => {
      pools.push(value.cpus);
      poolChanged();
    },
  });
  broker.join('node-api', clock).bus.reader(deviceResource, {
    changed: ({ value }) => {
      if (!value.gone) plugged();
    },
  });
  broker.join('cli', clock).bus.reader(nodeTopology, {
    changed: ({ key, value }) => {
      topologies.set(key, value);
      shown();
    },
  });
  const sources = broker.join('config-sources', clock).bus;
  sources.owner(configuredSources).put('sources', { sources: ['file'] });
  sources.owner(desiredPods.file).complete();
  // Two NUMA nodes with two cores each, of 4 GiB.
  for (const [name, text] of Object.entries({
    'cpu/online': '0-3',
    ...Object.fromEntries([0, 1, 2, 3].map((id) => [`cpu/cpu${id}/topology/thread_siblings_list`, String(id)])),
    'node/online': '0-1',
    ...{ 'node/node0/cpulist': '0-1', 'node/node0/distance': '10 20' },
    ...{ 'node/node1/cpulist': '2-3', 'node/node1/distance': '20 10' },
    'node/node0/meminfo': `Node 0 MemTotal: ${(4 * GI) / 1024} kB`,
    'node/node1/meminfo': `Node 1 MemTotal: ${(4 * GI) / 1024} kB`,
  })) {
    const path = join(dir, 'sys/devices/system', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${text}\n`);
  }
});
afterEach(async () => {
  await stop();
  for (const plugin of plugins) await plugin.remove();
  rmSync(dir, { recursive: true });
});

interface Policies {
  readonly cpuPolicy?: string;
  readonly memoryPolicy?: string;
  readonly topologyPolicy?: string;
  readonly topologyScope?: string;
  readonly cpuOptions?: Readonly<Record<string, string>>;
}

/** Starts the service, or its next process. */
async function start({
  topologyPolicy = 'none',
  topologyScope = 'container',
  ...policies
}: Policies = {}): Promise<void> {
  epoch += 1;
  const member = broker.join('node-agent', clock, epoch);
  const metrics = new Metrics({});
  const exclusive = {
    ...{ cpuPolicy: 'static', memoryPolicy: 'None', cpuOptions: {}, gates: { alpha: false, beta: true } },
    ...{ withoutQuota: true, reconcileMs: 10_000, reservedCpus: '0', ...policies },
    reservedMemory: [{ numaNode: 0, limits: { memory: GI } }],
  };
  const context = {
    config: {
      ...{ node: 'node0', pods: { root, max: 110 }, exclusive },
      devices: { topologyPolicy, topologyScope },
      eviction: { storageLimits: true },
      reserved: { system: { cpu: '1', memory: String(GI) }, kube: {}, evictionHard: {} },
    },
    ...{ bus: member.bus, clock, logger: silentLogger, metrics, stateDir: join(dir, 'state') },
  } as unknown as ServiceContext;
  const service = await DeviceService.start(context, () => undefined, join(dir, 'sys')).catch((error: unknown) => {
    member.leave();
    throw error;
  });
  life = { service, member, metrics };
}

async function stop(): Promise<void> {
  life?.member.leave();
  await life?.service.stop();
  life = undefined;
}

interface Wanted {
  readonly cpus?: number;
  /** GiB. */
  readonly memory?: number;
  readonly kind?: 'init' | 'app';
}

/** Asks for a pod's containers; returns what each has. */
async function ask(uid: string, wanted: Readonly<Record<string, Wanted>>, starting?: string) {
  const exclusive = Object.entries(wanted).map(([name, { cpus = 0, memory, kind = 'app' }]) => ({
    ...{ name, kind, cpus },
    ...(memory !== undefined && { memory: { memory: memory * GI } }),
  }));
  const ref = { uid, name: uid, namespace: 'default' };
  const request = { ref, requests: [], exclusive, ...(starting !== undefined && { starting }) };
  const { containers } = (await asking.call(allocateDevices, uid, request)).result;
  return Object.fromEntries(Object.entries(containers).map(([name, { cpuset }]) => [name, cpuset]));
}

/** Reason and message with which the pod is refused. */
async function refusal(uid: string, wanted: Readonly<Record<string, Wanted>>) {
  const error: unknown = await ask(uid, wanted).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandFailed);
  const { code, message } = error as CommandFailed;
  return [code, message];
}

/** A checkpoint as it is on the disk. */
function onDisk(name: 'cpu' | 'memory') {
  return JSON.parse(readFileSync(join(root, `${name}_manager_state`), 'utf8')) as Record<string, unknown>;
}

/** The pod's worker has ended it; resolves when its CPUs are free. */
async function end(uid: string): Promise<void> {
  const ref = { uid, name: uid, namespace: 'default' };
  const freed = new Promise<void>((resolve) => (poolChanged = resolve));
  workers.put(uid, { ref, state: 'terminated', since: '2030-01-01T00:00:00Z' }, { pod: uid });
  await freed;
}

describe('CPUs of their own', () => {
  test('are on the disk with the answer, kept by a restarted service, and free when the pod has ended', async () => {
    await start();
    expect(await ask('a', { main: { cpus: 2 } })).toEqual({ main: { cpus: '2-3' } });
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-1', entries: { a: { main: '2-3' } } });
    await stop();
    await start();
    expect(await ask('a', { main: { cpus: 2 } }, 'main')).toEqual({ main: { cpus: '2-3' } });
    expect(await ask('b', { main: { cpus: 1 } })).toEqual({ main: { cpus: '1' } });
    expect(pools).toEqual(['0-3', '0-1', '0-1', '0']);
    await end('a');
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0,2-3', entries: { b: { main: '1' } } });
    expect(await ask('c', { main: { cpus: 2 } })).toEqual({ main: { cpus: '2-3' } });
  });

  test('are refused with the reference’s reasons, and then nobody has them', async () => {
    await start();
    expect(await refusal('a', { one: { cpus: 2 }, two: { cpus: 2 } })).toEqual([
      'UnexpectedAdmissionError',
      'Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1, which is unexpected',
    ]);
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-3' });
    const { text } = await (life as unknown as { metrics: Metrics }).metrics.write();
    expect(text).toContain('kubelet_cpu_manager_pinning_requests_total 2');
    expect(text).toContain('kubelet_cpu_manager_pinning_errors_total 1');
    expect(text).toContain('kubelet_cpu_manager_shared_pool_size_millicores 3000');
  });

  test('that no NUMA node has alone are refused by single-numa-node', async () => {
    await start({ topologyPolicy: 'single-numa-node' });
    expect(await refusal('a', { main: { cpus: 3 } })).toEqual([
      'TopologyAffinityError',
      'Resources cannot be allocated with Topology locality',
    ]);
  });
});

test('memory is of NUMA nodes, and that of an ended init container is free for other pods while the pod runs on', async () => {
  await start({ memoryPolicy: 'Static' });
  const pod = { first: { memory: 2, kind: 'init' }, main: { memory: 1, cpus: 1 } } as const;
  expect(await ask('a', pod)).toEqual({ first: { mems: '0' }, main: { cpus: '1', mems: '0' } });
  await ask('a', pod, 'main');
  expect(await ask('b', { main: { memory: 2 } })).toEqual({ main: { mems: '0' } });
  expect(await ask('c', { main: { memory: 4 } })).toEqual({ main: { mems: '1' } });
  // No memory is left for the init container, which does not run again.
  expect(await ask('a', pod, 'main')).toEqual({ main: { cpus: '1', mems: '0' } });
});

test('the machine is a fact with what containers have for themselves, as it is on the disk', async () => {
  await start({ memoryPolicy: 'Static' });
  expect(topologies.get('node0')).toMatchObject({ reserved: '0', shared: '0-3', containers: [] });
  await ask('a', { main: { cpus: 2, memory: 1 }, side: { memory: 1 } });
  expect(topologies.get('node0')).toMatchObject({
    policies: { cpu: 'static', memory: 'Static', topology: 'none', scope: 'container' },
    ...{ reserved: '0', shared: '0-1' },
    memory: [
      { node: 0, resource: 'memory', allocatable: 3 * GI, free: GI },
      { node: 1, resource: 'memory', allocatable: 4 * GI, free: 4 * GI },
    ],
    containers: [
      { uid: 'a', name: 'main', cpus: '2-3', memory: [{ nodes: '0', resource: 'memory', bytes: GI }] },
      { uid: 'a', name: 'side', memory: [{ nodes: '0', resource: 'memory', bytes: GI }] },
    ],
  });
  await end('a');
  expect(topologies.get('node0')).toMatchObject({ shared: '0-3', containers: [] });
});

test('the machine is a fact where no container has anything for itself, too', async () => {
  const known = new Promise<void>((resolve) => (shown = resolve));
  await start({ cpuPolicy: 'none' });
  await known;
  const found = topologies.get('node0');
  expect(found?.machine.nodes.map(({ cpus }) => cpus)).toEqual(['0-1', '2-3']);
  expect(found?.containers).toEqual([]);
  expect(found).not.toHaveProperty('shared');
});

test('another policy is refused while the checkpoint of the old one is there', async () => {
  await start();
  await stop();
  const why =
    'could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static"';
  await expect(start({ cpuPolicy: 'none' })).rejects.toThrow(why);
  rmSync(join(root, 'cpu_manager_state'));
  await start({ cpuPolicy: 'none' });
  expect(await ask('a', { main: { cpus: 1 } })).toEqual({});
  expect(pools).toEqual(['0-3']);
});

test('options that do not go together are refused at the start', async () => {
  const cpuOptions = { 'full-pcpus-only': 'maybe' };
  await expect(start({ cpuOptions })).rejects.toThrow('bad value for option "full-pcpus-only"');
});

test('checkpoints of the reference’s policies none and None are accepted, and stay as they are', async () => {
  const files = {
    cpu_manager_state: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    memory_manager_state: '{"policyName":"None","machineState":{},"checksum":4236770233}',
  };
  mkdirSync(root);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  await start({ cpuPolicy: 'none' });
  expect(await ask('a', { main: { cpus: 1 } })).toEqual({});
  for (const [name, text] of Object.entries(files)) {
    expect(readFileSync(join(root, name), 'utf8')).toBe(text);
  }
});

describe('devices, CPUs and memory come from the same NUMA nodes', () => {
  const RESOURCE = 'example.com/device';

  /** A plugin with these devices, by the node that they are close to; resolves when the node knows them. */
  async function plug(on: Readonly<Record<string, number>>, more: Partial<DevicePluginSetup> = {}) {
    const devices = Object.entries(on).map(([id, node]) => ({ id, numaNodes: [node] }));
    const known = new Promise<void>((resolve) => (plugged = resolve));
    const folder = join(root, 'device-plugins');
    const plugin = await TestDevicePlugin.start({ resource: RESOURCE, folder, devices, ...more });
    plugins.push(plugin);
    await known;
    return plugin;
  }

  /** Asks for CPUs and devices of each container; returns what each has. */
  async function askBoth(uid: string, wanted: Readonly<Record<string, Wanted & { devices?: number }>>) {
    const names = Object.entries(wanted);
    const requests = names.flatMap(([name, { devices = 0, kind }]) =>
      devices === 0 ? [] : [{ name, ends: kind === 'init', counts: { [RESOURCE]: devices } }],
    );
    const exclusive = names.map(([name, { cpus = 0, kind = 'app' }]) => ({ name, kind, cpus }));
    const ref = { uid, name: uid, namespace: 'default' };
    const { containers } = (await asking.call(allocateDevices, uid, { ref, requests, exclusive })).result;
    return Object.fromEntries(
      Object.entries(containers).map(([name, { cpuset, envs }]) => [name, [cpuset?.cpus, envs['TEST_DEVICES']]]),
    );
  }

  async function refused(...asked: Parameters<typeof askBoth>): Promise<CommandFailed> {
    const error: unknown = await askBoth(...asked).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommandFailed);
    return error as CommandFailed;
  }

  test.each(['best-effort', 'restricted', 'single-numa-node'])('of a container, by %s', async (topologyPolicy) => {
    await start({ topologyPolicy });
    await plug({ a: 1, b: 0, c: 1 }, { preferred: ['a'] });
    // The lowest CPU and the preferred device are on different nodes.
    expect(await askBoth('a', { main: { cpus: 1, devices: 2 } })).toEqual({ main: ['2', 'a,c'] });
    expect(await askBoth('b', { main: { cpus: 1, devices: 1 } })).toEqual({ main: ['1', 'b'] });
  });

  test('of a pod as a whole, where that is its scope', async () => {
    await start({ topologyPolicy: 'single-numa-node', topologyScope: 'pod' });
    await plug({ a: 0, b: 1 });
    const pod = { one: { cpus: 1, devices: 1 }, two: { cpus: 1 } };
    expect(await askBoth('a', pod)).toEqual({ one: ['2', 'b'], two: ['3', undefined] });
    expect(await askBoth('a', pod)).toEqual({ one: ['2', 'b'], two: ['3', undefined] });
  });

  test('and a pod for which there are none is refused with what each provider has said', async () => {
    await start({ topologyPolicy: 'single-numa-node' });
    await plug({ a: 0 });
    const { code, context } = await refused('a', { first: { cpus: 1 }, main: { cpus: 2, devices: 1 } });
    expect(code).toBe('TopologyAffinityError');
    expect(mergedHintsSchema.parse(JSON.parse(String(context['merge'])))).toEqual({
      policy: 'single-numa-node',
      container: 'main',
      resources: [
        { resource: RESOURCE, hints: [{ nodes: '0', preferred: true }] },
        {
          resource: 'cpu',
          hints: [
            { nodes: '1', preferred: true },
            { nodes: '0-1', preferred: false },
          ],
        },
      ],
      preferred: false,
    });
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-3' });
  });

  test('CPUs are on the disk before a plugin is asked, and a service that was killed meanwhile gives devices of their node', async () => {
    await start({ topologyPolicy: 'single-numa-node' });
    const plugin = await plug({ a: 0, b: 1 });
    await plugin.disturb({ method: 'allocate', what: 'hang' });
    const lost = askBoth('a', { main: { cpus: 2, devices: 1 }, other: { cpus: 1 } }).catch(() => undefined);
    await plugin.until(() => plugin.calls.some(({ method }) => method === 'allocate'));
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-1', entries: { a: { main: '2-3' } } });
    await stop();
    // The process that was stopped would go on with the plugin's answer: the next one has the disk as it was.
    cpSync(join(root, 'cpu_manager_state'), join(dir, 'after/cpu_manager_state'));
    root = join(dir, 'after');
    await start({ topologyPolicy: 'single-numa-node' });
    await plug({ a: 0, b: 1 });
    expect(await askBoth('b', { main: { cpus: 1 } })).toEqual({ main: ['1', undefined] });
    const again = askBoth('a', { main: { cpus: 2, devices: 1 } });
    await clock.advance(10_000);
    expect(await again).toEqual({ main: ['2-3', 'b'] });
    await lost;
  });

  test('a pod whose devices fail loses the CPUs that it got; where both lack, the devices are what is said', async () => {
    await start({ topologyPolicy: 'best-effort' });
    const plugin = await plug({ a: 1 });
    await plugin.disturb({ method: 'allocate', what: 'fail' });
    const { message } = await refused('a', { first: { cpus: 1 }, main: { cpus: 1, devices: 1 } });
    expect(message).toContain('allocate fails as the test wants');
    expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-3' });
    const lacking = await refused('b', { main: { cpus: 9, devices: 2 } });
    expect(lacking.message).toContain(`requested number of devices unavailable for ${RESOURCE}`);
    expect((await refused('c', { main: { cpus: 9, devices: 1 } })).message).toContain('not enough cpus available');
  });
});
