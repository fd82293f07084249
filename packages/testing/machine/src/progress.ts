import { setTimeout as wait } from 'node:timers/promises';
import { GuestError } from './errors.ts';

/** Writes one line for the person who waits. */
export type Say = (line: string) => void;

/** How often a wait looks, and how often it says that it still waits, in milliseconds. */
const [LOOK_MS, SAY_MS] = [2_000, 30_000];

/** When a wait is given up. It only ends what hangs. */
export interface Patience {
  /** For the error's text, such as `600 s`. */
  readonly limit: string;
  readonly isOver: () => Promise<boolean>;
}

/** By the clock of this machine, from now on. */
export function machinePatience(seconds: number): Patience {
  const end = performance.now() + seconds * 1_000;
  return { limit: `${seconds} s`, isOver: () => Promise.resolve(performance.now() > end) };
}

/**
 * Resolves with the result of `look` as soon as it is not undefined, and says every 30 s that it still waits.
 *
 * @param what the condition, for the progress and the error's text.
 * @param patience asked each time it says that it still waits.
 * @throws GuestError `ConditionMissing` when the patience is over, with the last error of `look`.
 */
export async function waitUntil<T>(
  what: string,
  say: Say,
  look: () => Promise<T | undefined>,
  patience: Patience,
): Promise<T> {
  const start = performance.now();
  let said = start;
  let cause: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined) return found;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const now = performance.now();
    if (now - said > SAY_MS) {
      const why = cause instanceof Error ? `: ${cause.message}` : '';
      if (await patience.isOver()) {
        throw new GuestError('ConditionMissing', `not within ${patience.limit}: ${what}${why}`, { cause });
      }
      say(`  still waiting for ${what} (${Math.round((now - start) / 1_000)} s)`);
      said = now;
    }
    await wait(LOOK_MS);
  }
}

/** Runs `work` and says every 30 s that it still runs, and at the end how long it took. */
export async function withProgress<T>(what: string, say: Say, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = () => Math.round((performance.now() - start) / 1_000);
  const ticker = setInterval(() => {
    say(`  ${what} (${seconds()} s)`);
  }, SAY_MS);
  try {
    const result = await work();
    say(`${what}: ${seconds()} s`);
    return result;
  } finally {
    clearInterval(ticker);
  }
}
