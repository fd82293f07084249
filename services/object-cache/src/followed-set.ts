import type { FactOwner } from '@kubus/bus';
import { References } from '@kubus/object-demand';
import type { Cancel, Clock } from '@kubus/ports';

/** How long most things are kept that nobody refers to any more, in milliseconds: a pod that is replaced refers to them again. */
export const KEEP_MS = 30_000;

/** One thing of the API server that is followed. */
export interface Followed<Fact> {
  /** What the bus is told of it; undefined as long as nothing is known. */
  readonly fact: Fact | undefined;
  stop(): void;
}

export interface FollowedSetOptions<Reference, Fact, One extends Followed<Fact>> {
  readonly clock: Clock;
  readonly facts: FactOwner<Fact>;
  /** How long a thing is kept that nobody refers to any more, in milliseconds. */
  readonly keepMs: number;
  /** Begins to follow a thing, and calls `changed` whenever it stands differently. */
  readonly follow: (reference: Reference, changed: () => void) => One;
  /** Called with what is told of a thing; undefined: it is followed no more. */
  readonly told?: (key: string, fact: Fact | undefined) => void;
  /** Called when the set is complete; may be called again. */
  readonly completed?: () => void;
}

/** Things of the API server that pods, or other things, refer to: each is followed once, however many do. */
export class FollowedSet<Reference, Fact, One extends Followed<Fact>> {
  readonly #options: FollowedSetOptions<Reference, Fact, One>;
  readonly #references = new References<Reference>();
  readonly #followed = new Map<string, One>();
  /** Things that nobody needs; how to end their time. */
  readonly #leaving = new Map<string, Cancel>();
  #allKnown = false;

  constructor(options: FollowedSetOptions<Reference, Fact, One>) {
    this.#options = options;
  }

  /** How many are followed or kept, and how many of them the API server has said nothing of yet. */
  get count(): { readonly all: number; readonly unread: number } {
    const unread = [...this.#followed.values()].filter(({ fact }) => fact === undefined);
    return { all: this.#followed.size, unread: unread.length };
  }

  get(key: string): One | undefined {
    return this.#followed.get(key);
  }

  /** The holder refers to these things from now on; to none: it is gone. */
  set(holder: string, things: ReadonlyMap<string, Reference>): void {
    const { clock, keepMs } = this.#options;
    const { added, dropped } = this.#references.set(holder, things);
    for (const [key, reference] of added) this.#need(key, reference);
    for (const key of dropped) {
      if (keepMs === 0) this.#drop(key);
      else
        this.#leaving.set(
          key,
          clock.after(keepMs, () => this.#drop(key)),
        );
    }
  }

  /** All holders are known: with the facts of their things the set is complete. */
  allKnown(): void {
    this.#allKnown = true;
    this.#completeOnceRead();
  }

  stop(): void {
    for (const one of this.#followed.values()) one.stop();
    for (const cancel of this.#leaving.values()) cancel();
  }

  #need(key: string, reference: Reference): void {
    this.#leaving.get(key)?.();
    this.#leaving.delete(key);
    if (this.#followed.has(key)) return;
    const { facts, follow, told } = this.#options;
    const one = follow(reference, () => {
      const { fact } = one;
      if (fact === undefined || this.#followed.get(key) !== one) return;
      facts.put(key, fact);
      told?.(key, fact);
      this.#completeOnceRead();
    });
    this.#followed.set(key, one);
  }

  #drop(key: string): void {
    this.#leaving.delete(key);
    this.#followed.get(key)?.stop();
    this.#followed.delete(key);
    this.#options.facts.remove(key);
    this.#options.told?.(key, undefined);
    this.#completeOnceRead();
  }

  #completeOnceRead(): void {
    if (!this.#allKnown || this.count.unread > 0) return;
    this.#options.facts.complete();
    this.#options.completed?.();
  }
}
