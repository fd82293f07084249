import type { ClaimDevice } from '@kubus/contracts';
import type { KnownClaim } from '@kubus/dra';
import { type DraMethod, PluginCallError, type RegisteredDraDriver } from '@kubus/node-plugins';
import { type Cancel, type Clock, KubusError } from '@kubus/ports';
import type { DeviceHealths } from './device-healths.ts';
import { HealthWatch } from './health-watch.ts';

/** What a call to a driver took. */
interface DriverCall {
  readonly driver: string;
  /** The full name of the gRPC method. */
  readonly method: string;
  /** The gRPC status, as Go writes it. */
  readonly status: string;
  readonly begin: number;
}

export interface ClaimDriversOptions {
  readonly called: (call: DriverCall) => void;
  readonly clock: Clock;
  /** What is known of the health of devices. */
  readonly healths: DeviceHealths;
  /** A process of the driver has registered, gone, been found or been lost. */
  readonly changed: (driver: string) => void;
}

type Plugin = RegisteredDraDriver['plugin'];

interface DriverProcess {
  connected: boolean;
  unwatch: Cancel;
}

/**
 * The drivers of resource claims that are registered on the node. A driver may have several processes, while it is updated: the one that
 * registered last is called, of those that are connected if there is one (behaviour:resource-managers, DRA).
 */
export class ClaimDrivers {
  /** By driver, in the order in which they registered. */
  readonly #registered = new Map<string, Map<Plugin, DriverProcess>>();
  readonly #options: ClaimDriversOptions;

  constructor(options: ClaimDriversOptions) {
    this.#options = options;
  }

  /** Throws when another process of the driver has the same socket. */
  add({ driver, plugin }: RegisteredDraDriver): void {
    const processes = this.#registered.get(driver) ?? new Map<Plugin, DriverProcess>();
    if ([...processes.keys()].some(({ socket }) => socket === plugin.socket)) {
      throw new KubusError('refused', `endpoint ${plugin.socket} already registered for DRA driver plugin ${driver}`);
    }
    const process: DriverProcess = { connected: false, unwatch: () => undefined };
    this.#registered.set(driver, processes.set(plugin, process));
    const health = new HealthWatch({ driver, plugin }, this.#options.clock, this.#options.healths);
    const unwatch = plugin.watch((connected) => {
      process.connected = connected;
      this.#options.changed(driver);
      if (connected) health.start();
      else health.stop();
    });
    process.unwatch = () => {
      unwatch();
      health.stop();
    };
    this.#options.changed(driver);
  }

  remove({ driver, plugin }: RegisteredDraDriver): void {
    const processes = this.#registered.get(driver);
    processes?.get(plugin)?.unwatch();
    processes?.delete(plugin);
    if (processes?.size === 0) this.#registered.delete(driver);
    this.#options.changed(driver);
  }

  stop(): void {
    for (const processes of this.#registered.values()) for (const { unwatch } of processes.values()) unwatch();
  }

  /** For each registered driver, how many of its processes are connected. */
  get connected(): ReadonlyMap<string, number> {
    const count = (processes: ReadonlyMap<Plugin, DriverProcess>) =>
      [...processes.values()].filter((one) => one.connected).length;
    return new Map([...this.#registered].map(([driver, processes]) => [driver, count(processes)]));
  }

  /** Whether a process of the driver is connected. */
  isConnected(driver: string): boolean {
    return (this.connected.get(driver) ?? 0) > 0;
  }

  /** Throws when the driver is not registered. */
  check(driver: string): void {
    this.#plugin(driver);
  }

  /** Returns the devices by the UID of their claim. */
  prepare(driver: string, claims: readonly KnownClaim[]): Promise<ReadonlyMap<string, readonly ClaimDevice[]>> {
    return this.#call(driver, 'NodePrepareResources', (plugin) => plugin.prepare(claims));
  }

  unprepare(driver: string, claims: readonly KnownClaim[]): Promise<void> {
    return this.#call(driver, 'NodeUnprepareResources', (plugin) => plugin.unprepare(claims));
  }

  async #call<T>(driver: string, method: DraMethod, call: (plugin: Plugin) => Promise<T>): Promise<T> {
    const plugin = this.#plugin(driver);
    const begin = this.#options.clock.now();
    let status = 'OK';
    try {
      return await call(plugin);
    } catch (error) {
      if (!(error instanceof PluginCallError)) throw error;
      status = error.status;
      throw new KubusError(error.code, `${method}: ${error.message}`, { cause: error });
    } finally {
      this.#options.called({ driver, method: plugin.pathOf(method), status, begin });
    }
  }

  #plugin(driver: string): Plugin {
    const processes = [...(this.#registered.get(driver) ?? [])];
    const found = processes.findLast(([, { connected }]) => connected) ?? processes.at(-1);
    if (found === undefined) throw new KubusError('no-driver', `DRA driver ${driver} is not registered`);
    return found[0];
  }
}
