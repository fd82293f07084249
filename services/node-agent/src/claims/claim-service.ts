import { claimUse } from '@kubus/contracts';
import type { KubeRequester } from '@kubus/kube';
import { Distribution } from '@kubus/metrics';
import { PluginWatcher, type RegisteredDraDriver, draPlugins } from '@kubus/node-plugins';
import type { ServiceContext } from '@kubus/service-kit';
import { pluginRegistry, retryWait } from '@kubus/volume';
import { realpath } from 'node:fs/promises';
import type { EndedPods } from '../devices/ended-pods.ts';
import { ClaimCheckpoint } from './claim-checkpoint.ts';
import { ClaimDrivers } from './claim-drivers.ts';
import { ClaimManager } from './claim-manager.ts';
import { DeviceHealths } from './device-healths.ts';
import { HealthFile } from './health-file.ts';
import { SliceWiper } from './slice-wiper.ts';

/** Seconds, from 0.1 to 40, as in the reference kubelet. */
const BUCKETS = Array.from({ length: 15 }, (_, index) => 0.1 * 400 ** (index / 14));

interface ClaimParts {
  readonly manager: ClaimManager;
  readonly wiper: SliceWiper | undefined;
  readonly drivers: ClaimDrivers;
  readonly healths: DeviceHealths;
  readonly watcher: Promise<PluginWatcher<RegisteredDraDriver>>;
}

/** The node's resource claims: finds their drivers, and has them prepare the claims of pods. */
export class ClaimService {
  readonly #parts: ClaimParts;

  private constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** @param client undefined: the node has no API server, and so no claims */
  static async start(
    context: ServiceContext,
    { client, ended }: { readonly client: KubeRequester | undefined; readonly ended: EndedPods },
  ): Promise<ClaimService> {
    const { config, bus, clock, logger, metrics } = context;
    const root = await realpath(config.pods.root);
    const checkpoint = new ClaimCheckpoint(root);
    const operations = new Distribution(BUCKETS);
    const calls = new Distribution(BUCKETS);
    const since = (begin: number) => (clock.now() - begin) / 1000;
    const wiper = client && new SliceWiper({ client, node: bus.node, clock, logger });
    const file = new HealthFile(root, logger);
    const known = await file.read(clock.now());
    const ledger = await checkpoint.read();
    const healths = new DeviceHealths({ clock, file, known, changed: (driver) => manager.driverChanged(driver) });
    const drivers = new ClaimDrivers({
      ...{ clock, healths },
      called: ({ driver, method, status, begin }) =>
        calls.observe({ driver_name: driver, method_name: method, grpc_status_code: status }, since(begin)),
      changed: (driver) => {
        if (drivers.isConnected(driver)) wiper?.present(driver);
        else wiper?.gone(driver);
        manager.driverChanged(driver);
      },
    });
    const manager = new ClaimManager({
      ...{ bus, clock, logger, checkpoint, ledger, drivers, healths, client },
      fact: bus.owner(claimUse),
      requested: (uid) => ended.requested(uid),
      isEnded: (uid) => ended.has(uid),
      timed: async (operation, work) => {
        const begin = clock.now();
        let isError = true;
        try {
          const result = await work();
          isError = false;
          return result;
        } finally {
          operations.observe({ operation_name: operation, is_error: String(isError) }, since(begin));
        }
      },
    });
    ended.follow((uid) => manager.sweep(uid));
    metrics.add({
      type: 'histogram',
      name: 'dra_operations_duration_seconds',
      help: 'Seconds in which all resource claims of a pod were prepared or unprepared, by operation and whether it failed.',
      values: operations,
    });
    metrics.add({
      type: 'histogram',
      name: 'dra_grpc_operations_duration_seconds',
      help: 'Seconds that calls to drivers of resource claims took, by driver, method and gRPC status.',
      values: calls,
    });
    metrics.add({
      type: 'gauge',
      name: 'dra_resource_claims_in_use',
      help: 'Resource claims that are prepared on the node, by driver; <any>: by some driver.',
      collect: () => [...manager.inUse].map(([driver, value]) => ({ labels: { driver_name: driver }, value })),
    });
    metrics.add({
      type: 'gauge',
      name: 'dra_driver_processes',
      help: 'Processes of registered drivers of resource claims that are connected, by driver; 0: its socket is there, but nobody answers.',
      collect: () => [...drivers.connected].map(([driver, value]) => ({ labels: { driver_name: driver }, value })),
    });
    const watcher = PluginWatcher.start({
      of: draPlugins,
      folder: pluginRegistry(root),
      ...{ clock, logger, retryWait },
      registered: (driver) => {
        drivers.add(driver);
        // A pod may have ended while its driver was away.
        manager.sweep();
      },
      unregistered: (driver) => drivers.remove(driver),
    });
    return new ClaimService({ manager, wiper, drivers, healths, watcher });
  }

  async stop(): Promise<void> {
    const { manager, wiper, drivers, healths, watcher } = this.#parts;
    manager.stop();
    wiper?.stop();
    await healths.stop();
    drivers.stop();
    (await watcher).stop();
  }
}
