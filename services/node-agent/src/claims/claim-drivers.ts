import type { ClaimDevice } from '@kubus/contracts';
import type { KnownClaim } from '@kubus/dra';
import { type DraMethod, PluginCallError, type RegisteredDraDriver } from '@kubus/node-plugins';
import { KubusError } from '@kubus/ports';

/** What a call to a driver took. */
export interface DriverCall {
  readonly driver: string;
  /** The full name of the gRPC method. */
  readonly method: string;
  /** The gRPC status, as Go writes it. */
  readonly status: string;
  readonly begin: number;
}

/** The drivers of resource claims that are registered on the node. */
export class ClaimDrivers {
  readonly #registered = new Map<string, RegisteredDraDriver>();
  readonly #now: () => number;
  readonly #called: (call: DriverCall) => void;

  constructor(now: () => number, called: (call: DriverCall) => void) {
    this.#now = now;
    this.#called = called;
  }

  add(driver: RegisteredDraDriver): void {
    this.#registered.set(driver.driver, driver);
  }

  /** Not if another process of the driver has registered since. */
  remove(driver: RegisteredDraDriver): void {
    if (this.#registered.get(driver.driver) === driver) this.#registered.delete(driver.driver);
  }

  has(driver: string): boolean {
    return this.#registered.has(driver);
  }

  /** Throws when the driver is not registered. */
  check(driver: string): void {
    this.#plugin(driver);
  }

  prepare(driver: string, claim: KnownClaim): Promise<readonly ClaimDevice[]> {
    return this.#call(driver, 'NodePrepareResources', (plugin) => plugin.prepare(claim));
  }

  unprepare(driver: string, claim: KnownClaim): Promise<void> {
    return this.#call(driver, 'NodeUnprepareResources', (plugin) => plugin.unprepare(claim));
  }

  async #call<T>(
    driver: string,
    method: DraMethod,
    call: (plugin: RegisteredDraDriver['plugin']) => Promise<T>,
  ): Promise<T> {
    const plugin = this.#plugin(driver);
    const begin = this.#now();
    let status = 'OK';
    try {
      return await call(plugin);
    } catch (error) {
      if (!(error instanceof PluginCallError)) throw error;
      status = error.status;
      throw new KubusError(error.code, `${method}: ${error.message}`, { cause: error });
    } finally {
      this.#called({ driver, method: plugin.pathOf(method), status, begin });
    }
  }

  #plugin(driver: string): RegisteredDraDriver['plugin'] {
    const plugin = this.#registered.get(driver)?.plugin;
    if (plugin === undefined) throw new KubusError('no-driver', `DRA driver ${driver} is not registered`);
    return plugin;
  }
}
