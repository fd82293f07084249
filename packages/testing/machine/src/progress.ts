import { setTimeout as wait } from 'node:timers/promises';
import { GuestError } from './errors.ts';

/** Writes one line for the person who waits. */
export type Say = (line: string) => void;

/** How often a wait looks, and how often it says that it still waits, in milliseconds. */
const [LOOK_MS, SAY_MS] = [2_000, 30_000];

/** How long something in the guest may take, in seconds: an emulated machine takes 20 times as long as this one. */
const PATIENCE_S = 900;

/**
 * Resolves with the result of `look` as soon as it is not undefined, and says every 30 s that it still waits.
 *
 * @param what the condition, for the progress and the error's text.
 * @throws GuestError `ConditionMissing` after `seconds`, with the last error of `look`.
 */
export async function waitUntil<T>(
  what: string,
  say: Say,
  look: () => Promise<T | undefined>,
  seconds = PATIENCE_S,
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
    if (now - start > seconds * 1_000) {
      const last = cause instanceof Error ? `: ${cause.message}` : '';
      throw new GuestError('ConditionMissing', `not within ${seconds} s: ${what}${last}`, { cause });
    }
    if (now - said > SAY_MS) {
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
