import type { Clock } from '@kubus/ports';

/** Ends an attempt at its timeout or when it is cancelled. */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #end: () => void;
  #expired = false;

  /** @param cancelled aborts the attempt too */
  constructor(clock: Clock, ms: number, cancelled: AbortSignal) {
    const abort = () => this.#controller.abort();
    const endTimer = clock.after(ms, () => {
      this.#expired = true;
      abort();
    });
    cancelled.addEventListener('abort', abort, { once: true });
    if (cancelled.aborted) abort();
    this.#end = () => {
      endTimer();
      cancelled.removeEventListener('abort', abort);
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the timeout has passed. */
  get expired(): boolean {
    return this.#expired;
  }

  /** To be called when the attempt has ended. */
  end(): void {
    this.#end();
  }
}
