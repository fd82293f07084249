// The devices of a node: real plugins, a bus in this process, and time that only the test moves.
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
import type { ContainerRequest } from '@kubus/device-manager';
import { type DevicePluginSetup, TestDevicePlugin } from '@kubus/harness';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { Metrics, type ServiceContext } from '@kubus/service-kit';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeviceService } from '../src/device-service.ts';

const RESOURCE = 'example.com/device';
const MINUTE = 60_000;

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
/** What readers know, and who waits for more of it. */
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
  const told = () => {
    for (const look of [...waiting]) look();
  };
  return {
    changed: ({ key, value }: { key: string; value: T }) => {
      known.set(key, value);
      told();
    },
    removed: ({ key }: { key: string }) => {
      known.delete(key);
      told();
    },
  };
}

/** Resolves when that holds; it is looked at with each fact. */
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

/** Starts the service, or a further life of it. */
async function start(topologyPolicy = 'none', topologyScope = 'container'): Promise<void> {
  epoch += 1;
  const member = broker.join('node-agent', clock, epoch);
  const context = {
    config: { pods: { root: join(dir, 'root') }, devices: { topologyPolicy, topologyScope } },
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
  const folder = join(dir, 'root/device-plugins');
  const plugin = await TestDevicePlugin.start({ resource: RESOURCE, folder, devices, ...more });
  plugins.push(plugin);
  await until(() => resources.get(plugin.setup.resource)?.devices.length === ids.length);
  return plugin;
}

const counted = (name: string, count: number, resource = RESOURCE): ContainerRequest => ({
  ...{ name, ends: false, counts: { [resource]: count } },
});
const refOf = (uid: string) => ({ uid, name: uid, namespace: 'default' });

/** Asks for the devices of a pod; returns those of each container. */
async function ask(uid: string, requests: readonly ContainerRequest[], starting?: string) {
  const request = { ref: refOf(uid), requests: [...requests], ...(starting !== undefined && { starting }) };
  const { containers } = (await asking.call(allocateDevices, uid, request)).result;
  return Object.fromEntries(Object.entries(containers).map(([name, { envs }]) => [name, envs['TEST_DEVICES']]));
}

/** Why the pod does not get them. */
async function refusal(uid: string, requests: readonly ContainerRequest[], starting?: string) {
  const error: unknown = await ask(uid, requests, starting).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandFailed);
  const { code, message } = error as CommandFailed;
  return { code, message };
}

describe('giving', () => {
  test('a pod keeps what it has been given, however often it asks, and nobody else gets it', async () => {
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

  test('what an init container has had, the next ones get', async () => {
    await start();
    await plug(['a', 'b']);
    const requests = [{ ...counted('init', 2), ends: true }, counted('side', 1), counted('main', 1)];
    const { init, ...others } = await ask('one', requests);
    expect([init, Object.values(others).toSorted()]).toEqual(['a,b', ['a', 'b']]);
  });

  test('a pod that is refused for one container has nothing, and resources that no plugin has do not count', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    expect(await ask('other', [counted('main', 1, 'example.com/nobodys')])).toEqual({});
    await plugin.disturb({ method: 'allocate', what: 'fail' });
    const message =
      'Allocate failed due to rpc error: code = Unknown desc = allocate fails as the test wants, which is unexpected';
    expect(await refusal('one', [counted('main', 2)])).toEqual({ code: 'UnexpectedAdmissionError', message });
    expect(await ask('two', [counted('main', 2)])).toEqual({ main: 'a,b' });
  });

  test('a plugin that hangs holds up nobody who wants something else, and what it may give is nobody’s else', async () => {
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

  test.each(['container', 'pod'])('devices that are not all on one node are refused to a %s', async (scope) => {
    await start('single-numa-node', scope);
    const devices = [
      { id: 'a', numaNodes: [0] },
      { id: 'b', numaNodes: [9] },
    ];
    await plug(['a', 'b'], { devices });
    expect(await refusal('one', [counted('main', 2)])).toEqual({
      code: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
    expect(await refusal('two', [counted('main', 1), counted('side', 1)])).toMatchObject({
      code: 'TopologyAffinityError',
    });
    expect(await ask('three', [counted('main', 1)])).toEqual({ main: 'a' });
  });

  test('the plugin is asked what it prefers, and hears of each start; it can keep a container from it', async () => {
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

describe('plugins come and go', () => {
  test('devices of a plugin that has gone can not be had, and count for five more minutes', async () => {
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

  test('a list that ends at once leaves a resource of which there is nothing; nobody asks for it again', async () => {
    await start();
    const plugin = await plug(['a']);
    await plugin.disturb({ method: 'list', what: 'fail' });
    await plugin.register();
    await until(() => resources.get(RESOURCE)?.gone === true);
    await plugin.register();
    await until(() => resources.get(RESOURCE)?.gone === false);
  });

  test('after a restart pods have what they had, and who wants more waits for the plugin', async () => {
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

  test('a plugin that does not come back in time has gone', async () => {
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

describe('devices are free again', () => {
  const since = '2030-01-01T00:00:00Z';
  const work = (uid: string, what: PodWork['work']): void => {
    const more = { source: 'file', reason: 'desired', worker: 'pod-workers-0', firstSeen: since } as const;
    works.put(uid, { ref: refOf(uid), work: what, ...more }, { pod: uid });
  };
  const report = (uid: string, state: PodWorkerReport['state']): void => {
    workers.put(uid, { ref: refOf(uid), state, since }, { pod: uid });
  };

  test('when the pod’s worker has ended it, not before', async () => {
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

  test('when nobody speaks of the pod any more, and everybody has spoken', async () => {
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
