import { PluginCallError, type RegisteredDraDriver } from '@kubus/node-plugins';
import type { Cancel, Clock } from '@kubus/ports';
import type { DeviceHealths } from './device-healths.ts';

/** How soon a stream that has ended is opened again, in milliseconds, as in the reference kubelet. */
const AGAIN_MS = 5_000;

/**
 * Follows what a process of a driver reports of the health of its devices, while it is connected. A driver that does not report any is not
 * asked again by this connection.
 */
export class HealthWatch {
  readonly #driver: RegisteredDraDriver;
  readonly #clock: Clock;
  readonly #healths: DeviceHealths;
  #end: Cancel | undefined;

  constructor(driver: RegisteredDraDriver, clock: Clock, healths: DeviceHealths) {
    this.#driver = driver;
    this.#clock = clock;
    this.#healths = healths;
  }

  start(): void {
    const { driver, plugin } = this.#driver;
    this.#end?.();
    this.#end = plugin.watchHealth({
      devices: (reports) => this.#healths.report(driver, reports),
      ended: (error) => {
        this.#healths.forget(driver);
        const isOffered = !(error instanceof PluginCallError && error.status === 'Unimplemented');
        this.#end = isOffered ? this.#clock.after(AGAIN_MS, () => this.start()) : undefined;
      },
    });
  }

  stop(): void {
    if (this.#end === undefined) return;
    this.#end();
    this.#end = undefined;
    this.#healths.forget(this.#driver.driver);
  }
}
