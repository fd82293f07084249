import type { FactOwner } from '@kubus/bus';
import { type CachedObject, type ObjectReference, objectKey } from '@kubus/contracts';
import { References } from '@kubus/object-demand';
import type { Cancel } from '@kubus/ports';
import type { ApiReader } from './api-reader.ts';
import { FollowedObject } from './followed-object.ts';
import type { KeptObject } from './kept-object.ts';

/** How long an object is kept that no pod refers to any more, in milliseconds: a pod that is replaced refers to it again. */
const KEEP_MS = 30_000;

/** The ConfigMaps and Secrets that pods refer to: each watched once, however many pods do. */
export class FollowedObjects {
  readonly #reader: ApiReader;
  readonly #facts: FactOwner<CachedObject>;
  readonly #references = new References<ObjectReference>();
  readonly #objects = new Map<string, FollowedObject>();
  /** Objects that nobody needs; how to end their time. */
  readonly #leaving = new Map<string, Cancel>();
  #podsKnown = false;

  constructor(reader: ApiReader, facts: FactOwner<CachedObject>) {
    this.#reader = reader;
    this.#facts = facts;
  }

  /** How many are watched or kept, and how many of them the API server has said nothing of yet. */
  get count(): { readonly all: number; readonly unread: number } {
    const unread = [...this.#objects.values()].filter(({ fact }) => fact === undefined);
    return { all: this.#objects.size, unread: unread.length };
  }

  /** The object with its values, if it is there; `unread` when that is not known. */
  get(reference: ObjectReference): KeptObject | 'unread' | undefined {
    const followed = this.#objects.get(objectKey(reference));
    return followed === undefined ? 'unread' : followed.object;
  }

  /** A pod refers to these objects from now on; to none: it is gone. */
  set(pod: string, objects: ReadonlyMap<string, ObjectReference>): void {
    const { added, dropped } = this.#references.set(pod, objects);
    for (const [key, reference] of added) this.#need(key, reference);
    for (const key of dropped) {
      this.#leaving.set(
        key,
        this.#reader.clock.after(KEEP_MS, () => this.#drop(key)),
      );
    }
  }

  /** All pods of the node are known: with the facts of their objects the set is complete. */
  podsKnown(): void {
    this.#podsKnown = true;
    this.#completeOnceRead();
  }

  stop(): void {
    for (const followed of this.#objects.values()) followed.stop();
    for (const cancel of this.#leaving.values()) cancel();
  }

  #need(key: string, reference: ObjectReference): void {
    this.#leaving.get(key)?.();
    this.#leaving.delete(key);
    if (this.#objects.has(key)) return;
    const followed = new FollowedObject(this.#reader, reference, () => {
      const { fact } = followed;
      if (fact === undefined || this.#objects.get(key) !== followed) return;
      this.#facts.put(key, fact);
      this.#completeOnceRead();
    });
    this.#objects.set(key, followed);
  }

  #drop(key: string): void {
    this.#leaving.delete(key);
    this.#objects.get(key)?.stop();
    this.#objects.delete(key);
    this.#facts.remove(key);
    this.#completeOnceRead();
  }

  #completeOnceRead(): void {
    if (this.#podsKnown && this.count.unread === 0) this.#facts.complete();
  }
}
