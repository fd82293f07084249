import type { FactOwner } from '@kubus/bus';
import type { Cancel, Clock } from '@kubus/ports';
import { References } from '@kubus/volume';

/** How long unreferenced objects are usually kept, in milliseconds: the pod that replaces another one refers to them again. */
export const KEEP_MS = 30_000;

/** One followed object of the API server. */
export interface Followed<Fact> {
  /** The fact to publish; undefined while nothing is known. */
  readonly fact: Fact | undefined;
  stop(): void;
}

export interface FollowedSetOptions<Reference, Fact, One extends Followed<Fact>> {
  readonly clock: Clock;
  readonly facts: FactOwner<Fact>;
  /** How long an unreferenced object is kept, in milliseconds. */
  readonly keepMs: number;
  /** Starts to follow an object; calls `changed` after each change of its state. */
  readonly follow: (reference: Reference, changed: () => void) => One;
  /** Called with each published fact; undefined: the object is no longer followed. */
  readonly published?: (key: string, fact: Fact | undefined) => void;
  /** Called when the set is complete; may be called again. */
  readonly completed?: () => void;
}

/** Objects of the API server that pods or other objects refer to: each is followed once, however many references it has. */
export class FollowedSet<Reference, Fact, One extends Followed<Fact>> {
  readonly #options: FollowedSetOptions<Reference, Fact, One>;
  readonly #references = new References<Reference>();
  readonly #followed = new Map<string, One>();
  /** Unreferenced objects; cancels their removal. */
  readonly #leaving = new Map<string, Cancel>();
  #allKnown = false;

  constructor(options: FollowedSetOptions<Reference, Fact, One>) {
    this.#options = options;
  }

  /** Numbers of followed or kept objects, and of those not read yet. */
  get count(): { readonly all: number; readonly unread: number } {
    const unread = [...this.#followed.values()].filter(({ fact }) => fact === undefined);
    return { all: this.#followed.size, unread: unread.length };
  }

  get(key: string): One | undefined {
    return this.#followed.get(key);
  }

  /** Sets the objects that the holder refers to; none: the holder was removed. */
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

  /** All holders are known: once their objects are read the set is complete. */
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
    const { facts, follow, published } = this.#options;
    const one = follow(reference, () => {
      const { fact } = one;
      if (fact === undefined || this.#followed.get(key) !== one) return;
      facts.put(key, fact);
      published?.(key, fact);
      this.#completeOnceRead();
    });
    this.#followed.set(key, one);
  }

  #drop(key: string): void {
    this.#leaving.delete(key);
    this.#followed.get(key)?.stop();
    this.#followed.delete(key);
    this.#options.facts.remove(key);
    this.#options.published?.(key, undefined);
    this.#completeOnceRead();
  }

  #completeOnceRead(): void {
    if (!this.#allKnown || this.count.unread > 0) return;
    this.#options.facts.complete();
    this.#options.completed?.();
  }
}
