import type { Cause } from '@kubus/bus';
import type { Cancel, Clock } from '@kubus/ports';

export interface SyncQueueOptions {
  readonly clock: Clock;
  /** Whether there is anything to sync. */
  readonly maySync: () => boolean;
  /**
   * Syncs once. Resolves with the milliseconds after which the next sync is due at the latest, undefined when none is.
   * `causes`: the causes that have arrived since the last sync began, newest first. Never rejects.
   */
  readonly sync: (causes: readonly Cause[], signal: AbortSignal) => Promise<number | undefined>;
  /** Called after each sync. */
  readonly onSynced: () => void;
}

/** Runs one pod's syncs, one after another: requests that arrive during a sync are served by one more sync. */
export class SyncQueue {
  readonly #options: SyncQueueOptions;
  #causes: Cause[] = [];
  #syncing: AbortController | undefined;
  #due = false;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: SyncQueueOptions) {
    this.#options = options;
  }

  get syncing(): boolean {
    return this.#syncing !== undefined;
  }

  /** Syncs at once, or as soon as the current sync has ended. */
  requeue(...causes: readonly Cause[]): void {
    this.#causes.unshift(...causes);
    this.#due = true;
    this.#run();
  }

  /** One more sync follows the current one. */
  again(): void {
    this.#due = true;
  }

  /** Ends the current sync at the next point where it can be ended. */
  abort(): void {
    this.#syncing?.abort();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.abort();
  }

  #run(): void {
    const { clock, maySync, sync, onSynced } = this.#options;
    if (this.#syncing !== undefined || this.#stopped || !maySync()) return;
    this.#timer?.();
    this.#due = false;
    const syncing = new AbortController();
    this.#syncing = syncing;
    void sync(this.#causes.splice(0), syncing.signal).then((waitMs) => {
      this.#syncing = undefined;
      onSynced();
      if (this.#due) this.#run();
      else if (waitMs !== undefined && !this.#stopped) this.#timer = clock.after(waitMs, () => this.requeue());
    });
  }
}
