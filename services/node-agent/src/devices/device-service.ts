import { cpuPool, deviceAllocation, deviceResource, nodeTopology } from '@kubus/contracts';
import { ExclusiveState } from '@kubus/exclusive-state';
import { readMachine } from '@kubus/machine-topology';
import { DEFAULT_BUCKETS, Distribution, Tally } from '@kubus/metrics';
import { DevicePluginRegistry, PluginWatcher, type RegisteredPlugin, devicePlugins } from '@kubus/node-plugins';
import { FileRecordStore, type ServiceContext } from '@kubus/service-kit';
import { pluginRegistry, retryWait } from '@kubus/volume';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { exclusiveSettings } from '../exclusive/exclusive-settings.ts';
import { ExclusiveThings } from '../exclusive/exclusive-things.ts';
import { DeviceAllocations } from './device-allocations.ts';
import { DeviceCheckpointFile } from './device-checkpoint.ts';
import { DeviceManager } from './device-manager.ts';
import { DeviceResources } from './device-resources.ts';
import { EarlierDevices } from './earlier-devices.ts';
import { EndedPods } from './ended-pods.ts';
import { machineTopology } from './numa-nodes.ts';

/** The node's devices: finds plugins, publishes resources, and allocates devices, and CPUs and memory of their own, to pods. */
export class DeviceService {
  readonly resources: DeviceResources;
  readonly ended: EndedPods;
  readonly #registry: DevicePluginRegistry;
  readonly #watcher: Promise<PluginWatcher<RegisteredPlugin>>;

  private constructor(
    resources: DeviceResources,
    ended: EndedPods,
    registry: DevicePluginRegistry,
    watcher: Promise<PluginWatcher<RegisteredPlugin>>,
  ) {
    this.resources = resources;
    this.ended = ended;
    this.#registry = registry;
    this.#watcher = watcher;
  }

  /**
   * @param changed called after each change of the devices
   * @param sys `/sys`, or a folder like it
   */
  static async start(context: ServiceContext, changed: () => void, sys = '/sys'): Promise<DeviceService> {
    const { config, bus, clock, logger, metrics, reserve, stateDir } = context;
    await mkdir(config.pods.root, { recursive: true, mode: 0o750 });
    const root = await realpath(config.pods.root);
    const store = (name: string) => new FileRecordStore({ dir: join(stateDir, name), logger, reserve });
    const folder = config.pods.devicePlugins ?? join(root, 'device-plugins');
    const checkpoint = await DeviceCheckpointFile.open(folder, logger);
    const resources = await DeviceResources.start({
      fact: bus.owner(deviceResource),
      records: store('device-resources'),
      ...{ clock, logger, changed, checkpoint },
    });
    const allocations = await DeviceAllocations.load({
      fact: bus.owner(deviceAllocation),
      records: store('devices'),
      ...{ logger, checkpoint },
    });
    checkpoint.follow(() => ({ allocations: allocations.all, resources: resources.healthy }));
    const exclusive = await ExclusiveThings.start({
      ...{ node: config.node, settings: exclusiveSettings(config), clock, logger },
      podLevel: config.exclusive.podLevel,
      files: new ExclusiveState(root, {
        cpu: config.exclusive.cpuPolicy,
        memory: config.exclusive.memoryPolicy,
        podLevel: config.exclusive.podLevel,
      }),
      readMachine: () => readMachine(sys),
      ...{ pool: bus.owner(cpuPool), topology: bus.owner(nodeTopology) },
    });
    exclusive?.metrics.show(metrics);
    const seconds = new Distribution(DEFAULT_BUCKETS);
    const ended = new EndedPods(bus, clock);
    const manager = new DeviceManager({
      ...{ bus, logger, resources, allocations, exclusive },
      earlier: new EarlierDevices({ bus, clock, resources, allocations }),
      topology: machineTopology(config.devices, join(sys, 'devices/system/node')),
      topologyScope: config.devices.topologyScope,
      requested: (uid) => ended.requested(uid),
      isEnded: (uid) => ended.has(uid),
      timed: async (resource, call) => {
        const begin = clock.now();
        try {
          return await call();
        } finally {
          seconds.observe({ resource_name: resource }, (clock.now() - begin) / 1000);
        }
      },
    });
    ended.follow((uid) => manager.sweep(uid));
    const registrations = new Tally();
    metrics.add({
      type: 'counter',
      name: 'kubelet_device_plugin_registration_total',
      help: 'Registrations of device plugins, by the name of their resource.',
      collect: () => registrations.samples,
    });
    metrics.add({
      type: 'histogram',
      name: 'kubelet_device_plugin_alloc_duration_seconds',
      help: 'Seconds that device plugins took to allocate devices, by the name of their resource.',
      values: seconds,
    });
    const registry = await DevicePluginRegistry.start({
      ...{ folder, logger },
      asked: (resource) => registrations.add({ resource_name: resource }),
      registered: (plugin) => resources.register(plugin),
    });
    const watcher = PluginWatcher.start({
      of: devicePlugins,
      folder: pluginRegistry(root),
      ...{ clock, logger, retryWait },
      registered: (plugin) => resources.register(plugin),
      unregistered: (plugin) => resources.unregister(plugin),
    });
    return new DeviceService(resources, ended, registry, watcher);
  }

  async stop(): Promise<void> {
    this.#registry.stop();
    this.resources.stop();
    (await this.#watcher).stop();
  }
}
