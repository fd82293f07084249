import type { Bus } from '@kubus/bus';
import { claimExpansion, claimKey, csiPlugin } from '@kubus/contracts';
import { PluginWatcher, type RegisteredDriver, csiPlugins } from '@kubus/node-plugins';
import { type Cancel, type Clock, type Logger, sleep } from '@kubus/ports';
import { pluginRegistry, retryWait } from '@kubus/volume';
import { CsiUseRecords } from './csi-use-records.ts';
import { CsiVolumes } from './csi-volumes.ts';
import type { ValueReader } from '../host/values.ts';

/**
 * How long registrations of drivers that ran before this process are waited for, in milliseconds; then they count as
 * not registered.
 */
const FIRST_LOOK_MS = 5_000;

export interface CsiServiceOptions {
  readonly root: string;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly values: ValueReader | undefined;
}

/** The node's CSI drivers: finds them, publishes them, and manages their volumes. */
export class CsiService {
  readonly volumes: CsiVolumes;
  readonly #drivers: Promise<PluginWatcher<RegisteredDriver>>;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #registered = new Map<string, RegisteredDriver>();

  /** Resolves before any driver is found: only the pods of a hanging driver wait for it. */
  static async start(options: CsiServiceOptions): Promise<CsiService> {
    return new CsiService(options, await CsiUseRecords.open(options.root, options.bus.node, options.logger));
  }

  private constructor(options: CsiServiceOptions, records: CsiUseRecords) {
    const { root, bus, clock, logger, values } = options;
    const plugins = bus.owner(csiPlugin);
    const expansions = bus.owner(claimExpansion);
    expansions.complete();
    this.#drivers = PluginWatcher.start({
      of: csiPlugins,
      folder: pluginRegistry(root),
      clock,
      logger,
      retryWait,
      registered: (driver) => {
        logger.info({ driver: driver.name }, 'CSI driver registered');
        this.#registered.set(driver.name, driver);
        plugins.put(driver.name, factOf(driver));
        for (const listener of this.#listeners) listener();
      },
      unregistered: ({ name }) => {
        logger.info({ driver: name }, 'CSI driver unregistered');
        this.#registered.delete(name);
        plugins.remove(name);
      },
    });
    void this.#drivers.then(() => plugins.complete());
    const firstLook = Promise.race([this.#drivers, sleep(clock, FIRST_LOOK_MS, this.#stopping.signal)]);
    this.volumes = new CsiVolumes({
      root,
      node: bus.node,
      clock,
      logger,
      records,
      driver: async (name) => {
        if (!this.#registered.has(name)) await firstLook;
        return this.#registered.get(name);
      },
      values,
      expanded: ({ claim, capacity }) => {
        const { namespace, name, uid: claimUid } = claim;
        if (capacity === undefined) expansions.remove(claimKey(claim));
        else expansions.put(claimKey(claim), { namespace, name, claimUid, capacity });
      },
    });
  }

  /** Calls `listener` each time a driver has registered. */
  onRegistered(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    (await this.#drivers).stop();
  }
}

function factOf({ name, nodeId, maxVolumes, topology }: RegisteredDriver) {
  return { driver: name, nodeId, topology: { ...topology }, ...(maxVolumes !== undefined && { maxVolumes }) };
}
