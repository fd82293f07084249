import type { Bus, FactReader } from '@kubus/bus';
import { type ActiveFault, type FaultRule, NO_KEY, clearFault, faultRule, injectFault } from '@kubus/contracts';

/** The rules of a node, as received by its services, and the commands that start and end one. */
export class FaultRules {
  readonly #bus: Bus;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #rules: FactReader<ActiveFault>;

  /**
   * @param now milliseconds since the Unix epoch
   * @param onRule called with each new rule, and with each one that is published again
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

  /** Resolves when the current rules are known. */
  async whenPresent(): Promise<void> {
    await this.#rules.whenPresent();
  }

  /** The active rules, the oldest first. A killed launcher ends none: a rule ends when it is not published again. */
  get list(): ActiveFault[] {
    const now = this.#now();
    return [...this.#rules]
      .map(({ value }) => value)
      .filter(({ until }) => until > now)
      .sort((a, b) => a.since - b.since);
  }

  /** Resolves when the rule has been published: services receive it before anything that is published later. */
  async inject(rule: FaultRule): Promise<ActiveFault> {
    const { fault } = (await this.#bus.call(injectFault, rule.id, rule)).result;
    const isOver = () => fault.ends !== undefined && fault.ends <= this.#now();
    await this.#until(() => this.#rules.get(rule.id) !== undefined || isOver());
    return fault;
  }

  /** Ends a rule, or all rules and pauses. Resolves with the names of the rules when all ends have been published. */
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
