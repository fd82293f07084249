import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import { RetryWait } from './retry-wait.ts';

/** Largest random extension of a delay, as a fraction, so that not all nodes write at the same moment. */
const JITTER = 0.04;

export interface RepeaterOptions {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  /** Log message after a failure. */
  readonly failed: string;
  /** Milliseconds until the next run; default: only on request, and after a failure. */
  readonly everyMs?: number;
  /** The action. Resolves with the milliseconds until the next run, to override the default. */
  readonly act: () => Promise<number | undefined>;
}

/** Repeats one action, never twice at once, and sooner after a failure. */
export class Repeater {
  readonly #options: RepeaterOptions;
  readonly #wait = new RetryWait();
  #timer: Cancel | undefined;
  #running = false;
  #again = false;
  #stopped = false;

  constructor(options: RepeaterOptions) {
    this.#options = options;
  }

  /** Runs it now, or once more after the current run. */
  now(): void {
    this.#again = this.#running;
    if (this.#running || this.#stopped) return;
    this.#timer?.();
    void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #run(): Promise<void> {
    const { act, clock, everyMs, failed, ids, logger } = this.#options;
    this.#running = true;
    const usualMs = everyMs === undefined ? undefined : everyMs * (1 + JITTER * ids.fraction());
    let waitMs = usualMs;
    try {
      waitMs = (await act()) ?? usualMs;
      this.#wait.reset();
    } catch (error) {
      waitMs = Math.min(usualMs ?? Infinity, this.#wait.next());
      logger.warn({ err: toError(error).message, waitMs }, failed);
      this.#again = false;
    }
    this.#running = false;
    if (this.#stopped) return;
    if (this.#again) this.now();
    else if (waitMs !== undefined) this.#timer = clock.after(waitMs, () => this.now());
  }
}
