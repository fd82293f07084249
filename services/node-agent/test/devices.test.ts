// The devices of a node: real plugins, a bus in this process, and a clock that only the test advances.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, CommandFailed, type FactOwner } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type DeviceAllocation,
  type DeviceResource,
  type PodWork,
  type PodWorkerReport,
  allocateDevices,
  configuredSources,
  desiredPods,
  deviceAllocation,
  deviceResource,
  podWork,
  podWorker,
} from '@kubus/contracts';
import { type ContainerRequest, deviceCheckpoint, parseDeviceCheckpoint } from '@kubus/device-manager';
import { type DevicePluginSetup, TestDevicePlugin } from '@kubus/harness';
import { encodeAnswer } from '@kubus/node-plugins';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics, type ServiceContext } from '@kubus/service-kit';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeviceService } from '../src/devices/device-service.ts';

const RESOURCE = 'example.com/device';
const MINUTE = 60_000;
const exclusive = { cpuPolicy: 'none', memoryPolicy: 'None', cpuOptions: {} };

let dir: string;
let clock: ManualClock;
let broker: LocalBroker;
let asking: Bus;
let works: FactOwner<PodWork>;
let workers: FactOwner<PodWorkerReport>;
let completeSources: () => void;
let plugins: TestDevicePlugin[];
let life: { service: DeviceService; member: LocalMember } | undefined;
let epoch: number;
/** The facts that readers have received, and the waiting conditions. */
let resources: Map<string, DeviceResource>;
let allocations: Map<string, DeviceAllocation>;
let waiting: Set<() => void>;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-devices-')));
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  broker = new LocalBroker('node0');
  [plugins, epoch, life] = [[], 0, undefined];
  resources = new Map();
  allocations = new Map();
  waiting = new Set();
  const loop = broker.join('sync-loop', clock).bus;
  asking = loop;
  works = loop.owner(podWork);
  workers = broker.join('pod-workers', clock).bus.owner(podWorker);
  const sources = broker.join('config-sources', clock).bus;
  const [configured, file] = [sources.owner(configuredSources), sources.owner(desiredPods.file)];
  completeSources = () => {
    configured.put('sources', { sources: ['file'] });
    file.complete();
  };
  const api = broker.join('node-api', clock).bus;
  api.reader(deviceResource, follow(resources));
  api.reader(deviceAllocation, follow(allocations));
});
afterEach(async () => {
  await stop();
  for (const plugin of plugins) await plugin.remove();
  rmSync(dir, { recursive: true });
});

function follow<T>(known: Map<string, T>) {
  const notify = () => {
    for (const look of [...waiting]) look();
  };
  return {
    changed: ({ key, value }: { key: string; value: T }) => {
      known.set(key, value);
      notify();
    },
    removed: ({ key }: { key: string }) => {
      known.delete(key);
      notify();
    },
  };
}

/** Resolves when the condition holds; it is checked with each fact. */
function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return;
      waiting.delete(look);
      resolve();
    };
    waiting.add(look);
    look();
  });
}

/** Starts the service, or its next process. */
async function start(topologyPolicy = 'none', topologyScope = 'container'): Promise<void> {
  epoch += 1;
  const member = broker.join('node-agent', clock, epoch);
  const context = {
    config: {
      ...{
        node: 'node0',
        pods: { root: join(dir, 'root'), devicePlugins: join(dir, 'plugins') },
        devices: { topologyPolicy, topologyScope },
        exclusive,
      },
      ...{ eviction: { storageLimits: true }, reserved: { system: {}, kube: {}, evictionHard: {} } },
    },
    ...{ bus: member.bus, clock, logger: silentLogger, metrics: new Metrics({}), stateDir: join(dir, 'state') },
  } as unknown as ServiceContext;
  life = { service: await DeviceService.start(context, () => undefined), member };
}

async function stop(): Promise<void> {
  life?.member.leave();
  await life?.service.stop();
  life = undefined;
}

async function plug(ids: readonly string[], more: Partial<DevicePluginSetup> = {}): Promise<TestDevicePlugin> {
  const devices = ids.map((id) => ({ id }));
  const folder = join(dir, 'plugins');
  const plugin = await TestDevicePlugin.start({ resource: RESOURCE, folder, devices, ...more });
  plugins.push(plugin);
  await until(() => resources.get(plugin.setup.resource)?.devices.length === ids.length);
  return plugin;
}

const counted = (name: string, count: number, resource = RESOURCE): ContainerRequest => ({
  ...{ name, ends: false, counts: { [resource]: count } },
});
const refOf = (uid: string) => ({ uid, name: uid, namespace: 'default' });

/** Requests the devices of a pod; returns those of each container. */
async function ask(uid: string, requests: readonly ContainerRequest[], starting?: string) {
  const request = { ref: refOf(uid), requests: [...requests], ...(starting !== undefined && { starting }) };
  const { containers } = (await asking.call(allocateDevices, uid, request)).result;
  return Object.fromEntries(Object.entries(containers).map(([name, { envs }]) => [name, envs['TEST_DEVICES']]));
}

/** The error with which the pod is refused. */
async function refusal(uid: string, requests: readonly ContainerRequest[], starting?: string) {
  const error: unknown = await ask(uid, requests, starting).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandFailed);
  const { code, message } = error as CommandFailed;
  return { code, message };
}

describe('allocation', () => {
  test('a pod keeps its devices over repeated requests, and no other pod gets them', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    const given = await ask('one', [counted('main', 1)]);
    expect(await ask('one', [counted('main', 1)])).toEqual(given);
    const [first] = Object.values(given);
    const [second] = ['a', 'b'].filter((id) => id !== first);
    expect(await ask('two', [counted('main', 1)])).toEqual({ main: second });
    expect(await refusal('three', [counted('main', 1)])).toEqual({
      code: 'UnexpectedAdmissionError',
      message: `Allocate failed due to requested number of devices unavailable for ${RESOURCE}. Requested: 1, Available: 0, which is unexpected`,
    });
    expect(await plugin.requests('allocate')).toHaveLength(2);
    const devices = [{ id: first }];
    const containers = [{ name: 'main', resources: [{ resource: RESOURCE, devices }] }];
    expect(allocations.get('one')).toEqual({ ref: refOf('one'), containers });
    expect(allocations.has('three')).toBe(false);
  });

  test('devices of an init container are reused by later containers', async () => {
    await start();
    await plug(['a', 'b']);
    const requests = [{ ...counted('init', 2), ends: true }, counted('side', 1), counted('main', 1)];
    const { init, ...others } = await ask('one', requests);
    expect([init, Object.values(others).toSorted()]).toEqual(['a,b', ['a', 'b']]);
  });

  test('a pod that is refused for one container gets no devices; resources without a plugin are ignored', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    expect(await ask('other', [counted('main', 1, 'example.com/nobodys')])).toEqual({});
    await plugin.disturb({ method: 'allocate', what: 'fail' });
    const message =
      'Allocate failed due to rpc error: code = Unknown desc = allocate fails as the test wants, which is unexpected';
    expect(await refusal('one', [counted('main', 2)])).toEqual({ code: 'UnexpectedAdmissionError', message });
    expect(await ask('two', [counted('main', 2)])).toEqual({ main: 'a,b' });
  });

  test('a hanging plugin delays no request for another resource, and its reserved devices are not given to others', async () => {
    await start();
    const plugin = await plug(['a']);
    await plug(['x'], { resource: 'example.com/other' });
    await plugin.disturb({ method: 'allocate', what: 'hang' });
    const one = ask('one', [counted('main', 1)]);
    await plugin.until(() => plugin.calls.some(({ method }) => method === 'allocate'));
    expect(await ask('two', [counted('main', 1, 'example.com/other')])).toEqual({ main: 'x' });
    expect(await refusal('three', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    await plugin.release();
    expect(await one).toEqual({ main: 'a' });
  });

  test.each(['container', 'pod'])('devices of different NUMA nodes are refused for a %s', async (scope) => {
    await start('single-numa-node', scope);
    const devices = [
      { id: 'a', numaNodes: [0] },
      { id: 'b', numaNodes: [9] },
    ];
    await plug(['a', 'b'], { devices });
    const why = await ask('zero', [counted('main', 2)]).catch((thrown: unknown) => thrown);
    expect(JSON.parse(String((why as CommandFailed).context['merge']))).toEqual({
      ...{ policy: 'single-numa-node', preferred: false, ...(scope === 'container' && { container: 'main' }) },
      resources: [{ resource: RESOURCE, hints: [] }],
    });
    expect(await refusal('one', [counted('main', 2)])).toEqual({
      code: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
    expect(await refusal('two', [counted('main', 1), counted('side', 1)])).toMatchObject({
      code: 'TopologyAffinityError',
    });
    expect(await ask('three', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('the plugin’s preferred devices are used, and its PreStartContainer is called and can fail the start', async () => {
    await start();
    const plugin = await plug(['a', 'b', 'c'], { preferred: ['c'], preStart: true });
    expect(await ask('one', [counted('main', 1), counted('side', 1)], 'main')).toEqual({ main: 'c' });
    expect(await plugin.requests('preStart')).toEqual([{ devicesIds: ['c'] }]);
    await plugin.disturb({ method: 'preStart', what: 'fail' });
    expect(await refusal('one', [counted('main', 1), counted('side', 1)], 'main')).toEqual({
      code: 'CreateContainerConfigError',
      message: 'rpc error: code = Unknown desc = preStart fails as the test wants',
    });
    expect(await plugin.requests('allocate')).toHaveLength(2);
  });
});

describe('plugins that disconnect and return', () => {
  test('devices of a disconnected plugin cannot be allocated, and count as capacity for five more minutes', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    expect(life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '2' },
      allocatable: { [RESOURCE]: '2' },
    });
    await plugin.setDevices([{ id: 'a' }, { id: 'b', healthy: false }]);
    await until(() => resources.get(RESOURCE)?.devices.some(({ healthy }) => !healthy) === true);
    expect(life?.service.resources.amounts.allocatable).toEqual({ [RESOURCE]: '1' });
    await plugin.kill();
    await until(() => resources.get(RESOURCE)?.gone === true);
    expect(life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '2' },
      allocatable: { [RESOURCE]: '0' },
    });
    expect((await refusal('one', [counted('main', 1)])).message).toContain('no healthy devices present');
    await clock.advance(5 * MINUTE);
    expect(life?.service.resources.amounts).toEqual({
      capacity: { [RESOURCE]: '0' },
      allocatable: { [RESOURCE]: '0' },
    });
    expect((await refusal('one', [counted('main', 1)])).message).toContain('cannot allocate unregistered device');
    await plugin.live();
    await until(() => resources.get(RESOURCE)?.gone === false);
    expect(await ask('one', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('a plugin whose device list ends at once counts as disconnected until it registers again', async () => {
    await start();
    const plugin = await plug(['a']);
    await plugin.disturb({ method: 'list', what: 'fail' });
    await plugin.register();
    await until(() => resources.get(RESOURCE)?.gone === true);
    await plugin.register();
    await until(() => resources.get(RESOURCE)?.gone === false);
  });

  test('after a restart pods keep their devices, and a further request waits for the plugin to register', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    const given = await ask('one', [counted('main', 1)]);
    await plugin.kill();
    await until(() => resources.get(RESOURCE)?.gone === true);
    await plugin.live();
    await until(() => resources.get(RESOURCE)?.gone === false);
    await stop();
    await plugin.kill();
    await start();
    expect(resources.get(RESOURCE)).toMatchObject({ gone: false });
    expect(await ask('one', [counted('main', 1)])).toEqual(given);
    const two = ask('two', [counted('main', 1)]);
    await plugin.live();
    expect(Object.values(await two)).not.toEqual(Object.values(given));
    expect(await plugin.requests('allocate')).toHaveLength(2);
  });

  test('a plugin that does not register in time after a restart counts as disconnected', async () => {
    await start();
    const plugin = await plug(['a']);
    await stop();
    await plugin.kill();
    await start();
    const one = refusal('one', [counted('main', 1)]);
    await clock.advance(10_000);
    expect((await one).message).toContain('no healthy devices present');
    expect(resources.get(RESOURCE)).toMatchObject({ gone: true, devices: [{ id: 'a' }] });
  });
});

describe('the reference kubelet’s checkpoint', () => {
  const file = () => join(dir, 'plugins', 'kubelet_internal_checkpoint');
  const content = () => {
    const found = parseDeviceCheckpoint(readFileSync(file(), 'utf8'));
    if ('problem' in found) throw new Error(found.problem);
    return found;
  };
  /** Device `a` is that of the pod `one`, and its plugin has answered with an environment variable. */
  const left = () => {
    const answer = encodeAnswer({
      ...{ envs: { TEST_DEVICES: 'given by the reference' }, annotations: { 'example.com/a': '1' } },
      ...{ mounts: [{ containerPath: '/c', hostPath: '/h', readOnly: true }], devices: [], cdiDevices: ['x/y=z'] },
    });
    const entry = {
      pod: 'one',
      container: 'main',
      resource: RESOURCE,
      devices: [{ id: 'a', numaNodes: [0, 1] }],
      answer,
    };
    mkdirSync(join(dir, 'plugins'), { recursive: true });
    writeFileSync(file(), deviceCheckpoint({ entries: [entry], resources: { [RESOURCE]: ['a', 'b'] } }));
    return entry;
  };

  test('says what its pods have, and then what those of this agent have', async () => {
    const entry = left();
    await start();
    expect(resources.get(RESOURCE)).toMatchObject({ gone: false, devices: [] });
    expect(await ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
    expect(allocations.get('one')).toEqual({
      ref: refOf('one'),
      containers: [
        { name: 'main', resources: [{ resource: RESOURCE, devices: [{ id: 'a', topology: { numaNodes: [0, 1] } }] }] },
      ],
    });
    const plugin = await plug(['a', 'b']);
    expect(await ask('two', [counted('main', 1)])).toEqual({ main: 'b' });
    expect(await plugin.requests('allocate')).toHaveLength(1);
    const [one, two] = content().entries;
    expect(one).toEqual(entry);
    expect(two).toMatchObject({ pod: 'two', container: 'main', resource: RESOURCE, devices: [{ id: 'b' }] });
    expect(content().resources).toEqual({ [RESOURCE]: ['a', 'b'] });
  });

  test('is newer than this agent’s records, and keeps devices of pods without any', async () => {
    await start();
    await plug(['a', 'b', 'c'], { preferred: ['c'] });
    await ask('one', [counted('main', 1)]);
    await stop();
    left();
    await start();
    await until(() => resources.get(RESOURCE)?.devices.length === 3);
    expect(await ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
    expect(await ask('two', [counted('main', 1)])).toEqual({ main: 'c' });
    await stop();
    rmSync(join(dir, 'state'), { recursive: true });
    await start();
    expect(await ask('one', [counted('main', 1)])).toEqual({ main: 'given by the reference' });
    expect(await ask('two', [counted('main', 1)])).toEqual({ main: 'c' });
  });

  test('that is damaged is replaced by what this agent’s records say', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    const given = await ask('one', [counted('main', 1)]);
    await stop();
    const whole = content();
    writeFileSync(file(), readFileSync(file(), 'utf8').replace('"one"', '"two"'));
    expect(() => content()).toThrow('checkpoint is corrupted');
    await start();
    expect(await ask('one', [counted('main', 1)])).toEqual(given);
    await plugin.register();
    await until(() => resources.get(RESOURCE)?.gone === false);
    await ask('two', [counted('main', 1)]);
    expect(content().entries).toEqual([...whole.entries, expect.objectContaining({ pod: 'two' })]);
  });
});

describe('devices are freed', () => {
  const since = '2030-01-01T00:00:00Z';
  const work = (uid: string, what: PodWork['work']): void => {
    const more = { source: 'file', reason: 'desired', worker: 'pod-workers-0', firstSeen: since } as const;
    works.put(uid, { ref: refOf(uid), work: what, ...more }, { pod: uid });
  };
  const report = (uid: string, state: PodWorkerReport['state']): void => {
    workers.put(uid, { ref: refOf(uid), state, since }, { pod: uid });
  };

  test('when the pod’s worker has finished, not before', async () => {
    await start();
    await plug(['a']);
    await ask('one', [counted('main', 1)]);
    work('one', 'sync');
    for (const state of ['syncing', 'terminating'] as const) {
      report('one', state);
      expect(await refusal('two', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    }
    report('one', 'terminated');
    await until(() => !allocations.has('one'));
    expect(await ask('two', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('when no service lists the pod any more and all have published their completion marks', async () => {
    await start();
    await plug(['a']);
    await ask('one', [counted('main', 1)]);
    works.complete();
    workers.complete();
    expect(await refusal('two', [counted('main', 1)])).toMatchObject({ code: 'UnexpectedAdmissionError' });
    completeSources();
    await until(() => !allocations.has('one'));
    await stop();
    await start();
    expect(allocations.size).toBe(0);
  });
});
