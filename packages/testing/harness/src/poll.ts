import { setTimeout as wait } from 'node:timers/promises';
import { HANGING_MS } from '@kubus/ports/testing';
import { HarnessError } from './errors.ts';

const lookMs = 20;
/** A look that starts a program, such as `kubus status`, waits longer for the next one: others need the processors. */
const pausePerLook = 2;
const longestPauseMs = 1_000;

/**
 * Resolves with the result of `look` as soon as it is not undefined; it is polled every 20 ms, and less often when a look takes
 * long. For conditions without an event: processes that are not our children, mounts, a runtime's lists. `false` is no result: it
 * would end the wait.
 *
 * @param what the condition, for the error's text.
 * @throws HarnessError `ConditionMissing` after {@link HANGING_MS}; errors of `look`.
 */
export async function poll<T extends object | string | number | true>(
  what: string,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + HANGING_MS;
  for (;;) {
    const started = performance.now();
    const found = await look();
    if (found !== undefined) return found;
    const tookMs = performance.now() - started;
    if (performance.now() > end)
      throw new HarnessError('ConditionMissing', `Not within ${HANGING_MS / 1000} s: ${what}`);
    await wait(Math.min(Math.max(lookMs, pausePerLook * tookMs), longestPauseMs));
  }
}
