import { type DriverHealth, type HealthReport, isSameHealth, nextStale, withReports, withoutStale } from '@kubus/dra';
import type { Cancel, Clock } from '@kubus/ports';

const NOTHING: DriverHealth = new Map();

/** The health of devices as their drivers report it, for as long as it counts (KEP-4680). */
export class DeviceHealths {
  readonly #known = new Map<string, DriverHealth>();
  readonly #stale = new Map<string, Cancel>();
  readonly #clock: Clock;
  readonly #changed: (driver: string) => void;

  /** @param changed what is known of a driver's devices is another */
  constructor(clock: Clock, changed: (driver: string) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  of(driver: string): DriverHealth {
    return this.#known.get(driver) ?? NOTHING;
  }

  report(driver: string, reports: readonly HealthReport[]): void {
    this.#set(driver, withReports(this.of(driver), reports, this.#clock.now()));
  }

  /** Nobody reports for the driver any more. */
  forget(driver: string): void {
    this.#set(driver, NOTHING);
  }

  stop(): void {
    for (const cancel of this.#stale.values()) cancel();
  }

  #set(driver: string, health: DriverHealth): void {
    const before = this.of(driver);
    if (health.size === 0) this.#known.delete(driver);
    else this.#known.set(driver, health);
    this.#stale.get(driver)?.();
    this.#stale.delete(driver);
    const at = nextStale(health);
    if (at !== undefined) {
      const wait = Math.max(0, at - this.#clock.now());
      this.#stale.set(
        driver,
        this.#clock.after(wait, () => this.#set(driver, withoutStale(health, this.#clock.now()))),
      );
    }
    if (!isSameHealth(before, health)) this.#changed(driver);
  }
}
