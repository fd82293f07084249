import type { FactOwner } from '@kubus/bus';

/**
 * Publishes the completion marks of the workers' facts once: readers may take a missing fact for a removed one only
 * after every worker has synced its pod for the first time.
 */
export class FirstReports {
  readonly #facts: readonly Pick<FactOwner<unknown>, 'complete'>[];
  readonly #awaited = new Set<string>();
  #recordsKnown = false;
  #completed = false;

  constructor(facts: readonly Pick<FactOwner<unknown>, 'complete'>[]) {
    this.#facts = facts;
  }

  /** The completion marks wait for the pod's first sync. */
  await(uid: string): void {
    this.#awaited.add(uid);
  }

  /** The completion marks no longer wait for the pod's first sync; does not publish them by itself. */
  drop(uid: string): void {
    this.#awaited.delete(uid);
  }

  /** The pod has been synced, or belongs to another instance. */
  settle(uid: string): void {
    if (this.#awaited.delete(uid)) this.#completeIfSettled();
  }

  /** All pods that have records are known. */
  recordsKnown(): void {
    this.#recordsKnown = true;
    this.#completeIfSettled();
  }

  #completeIfSettled(): void {
    if (this.#completed || !this.#recordsKnown || this.#awaited.size > 0) return;
    this.#completed = true;
    for (const facts of this.#facts) facts.complete();
  }
}
