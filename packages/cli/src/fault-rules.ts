import type { FactReader } from '@kubus/bus';
import { type ActiveFault, type FaultRule, NO_KEY, clearFault, faultRule, injectFault } from '@kubus/contracts';
import type { NodeLink } from './node-link.ts';

/** The rules of a node, as its services hear of them. */
export class FaultRules {
  readonly #link: NodeLink;
  readonly #listeners: Set<() => void>;
  readonly #rules: FactReader<ActiveFault>;

  static async read(link: NodeLink): Promise<FaultRules> {
    const listeners = new Set<() => void>();
    const changed = () => {
      for (const listener of [...listeners]) listener();
    };
    return new FaultRules(link, listeners, await link.facts(faultRule, { changed, removed: changed }));
  }

  private constructor(link: NodeLink, listeners: Set<() => void>, rules: FactReader<ActiveFault>) {
    this.#link = link;
    this.#listeners = listeners;
    this.#rules = rules;
  }

  /** Those that hold now, the oldest first. */
  get list(): ActiveFault[] {
    return [...this.#rules].map(({ value }) => value).sort((a, b) => a.since - b.since);
  }

  /** Resolves when the rule has been told: whatever is said from then on the services hear after it. */
  async inject(rule: FaultRule): Promise<ActiveFault> {
    const { fault } = (await this.#link.bus.call(injectFault, rule.id, rule)).result;
    const isOver = () => fault.ends !== undefined && fault.ends <= Date.now();
    await this.#until(() => this.#rules.get(rule.id) !== undefined || isOver());
    return fault;
  }

  /** Ends a rule, or all rules and pauses. Resolves with the names of the rules when all have been told. */
  async clear(id?: string): Promise<readonly string[]> {
    const { cleared } = (await this.#link.bus.call(clearFault, id ?? NO_KEY, {})).result;
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
