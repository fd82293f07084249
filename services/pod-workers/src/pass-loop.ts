import type { Cause } from '@kubus/bus';
import type { Cancel, Clock } from '@kubus/ports';

export interface PassLoopOptions {
  readonly clock: Clock;
  /** Whether there is anything that a pass could be about. */
  readonly mayPass: () => boolean;
  /**
   * Makes one pass. Resolves with the milliseconds after which the next one is due at the latest, undefined when none is.
   * `causes`: what has come up since the last pass began, newest first. Never rejects.
   */
  readonly pass: (causes: readonly Cause[], signal: AbortSignal) => Promise<number | undefined>;
  readonly onPassed: () => void;
}

/** One pass after another: whatever comes up while one goes on makes one more. */
export class PassLoop {
  readonly #options: PassLoopOptions;
  #causes: Cause[] = [];
  #passing: AbortController | undefined;
  #due = false;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: PassLoopOptions) {
    this.#options = options;
  }

  get passing(): boolean {
    return this.#passing !== undefined;
  }

  /** Makes a pass now, or as soon as the present one has ended. */
  kick(...causes: readonly Cause[]): void {
    this.#causes.unshift(...causes);
    this.#due = true;
    this.#run();
  }

  /** The present pass is followed by one more. */
  again(): void {
    this.#due = true;
  }

  /** Ends the present pass where it can be ended. */
  abort(): void {
    this.#passing?.abort();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.abort();
  }

  #run(): void {
    const { clock, mayPass, pass, onPassed } = this.#options;
    if (this.#passing !== undefined || this.#stopped || !mayPass()) return;
    this.#timer?.();
    this.#due = false;
    const passing = new AbortController();
    this.#passing = passing;
    void pass(this.#causes.splice(0), passing.signal).then((waitMs) => {
      this.#passing = undefined;
      onPassed();
      if (this.#due) this.#run();
      else if (waitMs !== undefined && !this.#stopped) this.#timer = clock.after(waitMs, () => this.kick());
    });
  }
}
