/** Stops a timer; does nothing when the timer has fired already. */
export type Cancel = () => void;

/**
 * The only source of time in a service. The real clock reads the machine's clock; the simulation's is virtual, so that a
 * schedule of hours runs in milliseconds and the same seed produces the same run.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, with a fraction (microsecond resolution where the machine has it). */
  now(): number;
  /** Runs `action` once, `ms` milliseconds from now. */
  after(ms: number, action: () => void): Cancel;
}

/** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects: the caller checks the signal. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const onAbort = () => {
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
