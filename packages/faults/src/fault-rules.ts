import type { Bus, FactReader } from '@kubus/bus';
import { type ActiveFault, type FaultRule, NO_KEY, clearFault, faultRule, injectFault } from '@kubus/contracts';

/** The rules of a node, as its services hear of them, and the way to give and to end one. */
export class FaultRules {
  readonly #bus: Bus;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #rules: FactReader<ActiveFault>;

  /**
   * @param now milliseconds since the Unix epoch.
   * @param onRule told of each rule that is new, and of each that is told again.
   */
  constructor(bus: Bus, now: () => number, onRule: (fault: ActiveFault) => void = () => undefined) {
    this.#bus = bus;
    this.#now = now;
    const changed = () => {
      for (const listener of [...this.#listeners]) listener();
    };
    this.#rules = bus.reader(faultRule, {
      changed: ({ value }) => {
        onRule(value);
        changed();
      },
      removed: changed,
    });
  }

  /** Resolves when the rules that there are now are known. */
  async whenPresent(): Promise<void> {
    await this.#rules.whenPresent();
  }

  /** Those that hold now, the oldest first. A launcher that was killed ends none: a rule is over when nobody says it again. */
  get list(): ActiveFault[] {
    const now = this.#now();
    return [...this.#rules]
      .map(({ value }) => value)
      .filter(({ until }) => until > now)
      .sort((a, b) => a.since - b.since);
  }

  /** Resolves when the rule has been told: whatever is said from then on the services hear after it. */
  async inject(rule: FaultRule): Promise<ActiveFault> {
    const { fault } = (await this.#bus.call(injectFault, rule.id, rule)).result;
    const isOver = () => fault.ends !== undefined && fault.ends <= this.#now();
    await this.#until(() => this.#rules.get(rule.id) !== undefined || isOver());
    return fault;
  }

  /** Ends a rule, or all rules and pauses. Resolves with the names of the rules when all have been told. */
  async clear(id?: string): Promise<readonly string[]> {
    const { cleared } = (await this.#bus.call(clearFault, id ?? NO_KEY, {})).result;
    await this.#until(() => cleared.every((one) => this.#rules.get(one) === undefined));
    return cleared;
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const listener = () => {
        if (!isSo()) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
      listener();
    });
  }
}
