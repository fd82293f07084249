import {
  type DriverHealth,
  type HealthReport,
  type NodeHealth,
  isSameHealth,
  nextStale,
  withReports,
  withoutStale,
} from '@kubus/dra';
import type { Cancel, Clock } from '@kubus/ports';
import type { HealthFile } from './health-file.ts';

const NOTHING: DriverHealth = new Map();
/** How old the file may be while health is reported that has not changed, in milliseconds: less than the shortest usual time-out. */
const FILE_MS = 10_000;

export interface DeviceHealthsOptions {
  readonly clock: Clock;
  readonly file: Pick<HealthFile, 'write'>;
  /** What the file says. */
  readonly known: NodeHealth;
  /** What is known of a driver's devices is another. */
  readonly changed: (driver: string) => void;
}

/**
 * The health of devices as their drivers report it, for as long as it counts (KEP-4680). It is in a file, so that a restart of the node
 * agent does not make it unknown.
 */
export class DeviceHealths {
  readonly #known: Map<string, DriverHealth>;
  readonly #stale = new Map<string, Cancel>();
  readonly #options: DeviceHealthsOptions;
  #written = 0;
  #stopped = false;

  constructor(options: DeviceHealthsOptions) {
    this.#options = options;
    this.#known = new Map(options.known);
    for (const [driver, health] of options.known) this.#watch(driver, health);
  }

  of(driver: string): DriverHealth {
    return this.#known.get(driver) ?? NOTHING;
  }

  report(driver: string, reports: readonly HealthReport[]): void {
    this.#set(driver, withReports(this.of(driver), reports, this.#options.clock.now()));
  }

  /** Nobody reports for the driver any more. */
  forget(driver: string): void {
    this.#set(driver, NOTHING);
  }

  /** What is known stays in the file, although no driver is followed any more. Resolves when it is there. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#stale.values()) cancel();
    if (this.#written > 0) await this.#options.file.write(() => this.#known);
  }

  #set(driver: string, health: DriverHealth): void {
    if (this.#stopped) return;
    const { clock, file, changed } = this.#options;
    const before = this.of(driver);
    if (health.size === 0) this.#known.delete(driver);
    else this.#known.set(driver, health);
    this.#watch(driver, health);
    const isSame = isSameHealth(before, health);
    if (!isSame || (health.size > 0 && clock.now() - this.#written >= FILE_MS)) {
      this.#written = clock.now();
      void file.write(() => this.#known);
    }
    if (!isSame) changed(driver);
  }

  /** Forgets what is known of the driver's devices when it no longer counts. */
  #watch(driver: string, health: DriverHealth): void {
    const { clock } = this.#options;
    this.#stale.get(driver)?.();
    this.#stale.delete(driver);
    const at = nextStale(health);
    if (at === undefined) return;
    const cancel = clock.after(Math.max(0, at - clock.now()), () =>
      this.#set(driver, withoutStale(health, clock.now())),
    );
    this.#stale.set(driver, cancel);
  }
}
