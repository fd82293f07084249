import { expect } from '@jest/globals';
import { type Bus, CommandFailed, type FactOwner } from '@kubus/bus';
import { LocalBroker, type LocalMember } from '@kubus/bus/testing';
import {
  type DeviceAllocation,
  type DeviceResource,
  type PodFailure,
  type PodWork,
  type PodWorkerReport,
  allocateDevices,
  configuredSources,
  desiredPods,
  deviceAllocation,
  deviceResource,
  evictPod,
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
import { DeviceService } from '../src/devices/device-service.ts';

/** The resource of the plugins, where a test names no other. */
export const RESOURCE = 'example.com/device';
const exclusive = { cpuPolicy: 'none', memoryPolicy: 'None', cpuOptions: {} };

/** The devices of a node: real plugins, a bus in this process, and a clock that only the test advances. */
export class DeviceRig {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-devices-')));
  readonly clock = new ManualClock(Date.UTC(2030, 0, 1));
  readonly works: FactOwner<PodWork>;
  readonly workers: FactOwner<PodWorkerReport>;
  readonly completeSources: () => void;
  /** The facts that readers have received. */
  readonly resources = new Map<string, DeviceResource>();
  readonly allocations = new Map<string, DeviceAllocation>();
  /** Why pods were ended. */
  readonly evicted = new Map<string, PodFailure>();
  life: { service: DeviceService; member: LocalMember } | undefined;
  readonly #broker = new LocalBroker('node0');
  readonly #asking: Bus;
  readonly #plugins: TestDevicePlugin[] = [];
  readonly #waiting = new Set<() => void>();
  #epoch = 0;

  constructor() {
    const { clock } = this;
    const loop = this.#broker.join('sync-loop', clock).bus;
    this.#asking = loop;
    this.works = loop.owner(podWork);
    loop.serve(evictPod, ({ key, request: { failure } }) => {
      this.evicted.set(key, failure);
      return Promise.resolve({ evicted: true });
    });
    this.workers = this.#broker.join('pod-workers', clock).bus.owner(podWorker);
    const sources = this.#broker.join('config-sources', clock).bus;
    const [configured, file] = [sources.owner(configuredSources), sources.owner(desiredPods.file)];
    this.completeSources = () => {
      configured.put('sources', { sources: ['file'] });
      file.complete();
    };
    const api = this.#broker.join('node-api', clock).bus;
    api.reader(deviceResource, this.#follow(this.resources));
    api.reader(deviceAllocation, this.#follow(this.allocations));
  }

  async remove(): Promise<void> {
    await this.stop();
    for (const plugin of this.#plugins) await plugin.remove();
    rmSync(this.dir, { recursive: true });
  }

  /** Resolves when the condition holds; it is checked with each fact. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Starts the service, or its next process. */
  async start(topologyPolicy = 'none', topologyScope = 'container'): Promise<void> {
    const { clock, dir } = this;
    this.#epoch += 1;
    const member = this.#broker.join('node-agent', clock, this.#epoch);
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
    this.life = { service: await DeviceService.start(context, () => undefined), member };
  }

  async stop(): Promise<void> {
    this.life?.member.leave();
    await this.life?.service.stop();
    this.life = undefined;
  }

  async plug(ids: readonly string[], more: Partial<DevicePluginSetup> = {}): Promise<TestDevicePlugin> {
    const devices = ids.map((id) => ({ id }));
    const folder = join(this.dir, 'plugins');
    const plugin = await TestDevicePlugin.start({ resource: RESOURCE, folder, devices, ...more });
    this.#plugins.push(plugin);
    await this.until(() => this.resources.get(plugin.setup.resource)?.devices.length === ids.length);
    return plugin;
  }

  /** Requests the devices of a pod; returns those of each container. */
  async ask(uid: string, requests: readonly ContainerRequest[], of: { starting?: string; lost?: string } = {}) {
    const request = { ref: refOf(uid), requests: [...requests], ...of };
    const { containers } = (await this.#asking.call(allocateDevices, uid, request)).result;
    return Object.fromEntries(Object.entries(containers).map(([name, { envs }]) => [name, envs['TEST_DEVICES']]));
  }

  /** The error with which the pod is refused. */
  async refusal(uid: string, requests: readonly ContainerRequest[], of: { starting?: string; lost?: string } = {}) {
    const error: unknown = await this.ask(uid, requests, of).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommandFailed);
    const { code, message } = error as CommandFailed;
    return { code, message };
  }

  #follow<T>(known: Map<string, T>) {
    const notify = () => {
      for (const look of [...this.#waiting]) look();
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
}

/** A container that wants so many devices. */
export const counted = (name: string, count: number, resource = RESOURCE): ContainerRequest => ({
  ...{ name, ends: false, counts: { [resource]: count } },
});

export const refOf = (uid: string) => ({ uid, name: uid, namespace: 'default' });
