import { setTimeout as wait } from 'node:timers/promises';
import { HarnessError } from './errors.ts';

const lookMs = 20;
/** Limit of hanging waits in milliseconds. It is not an expected duration. */
const limitMs = 180_000;

/**
 * Resolves with the result of `look` as soon as it is not undefined; it is polled every 20 ms. For conditions without an event:
 * processes that are not our children, mounts, a runtime's lists. `false` is no result: it would end the wait.
 *
 * @param what the condition, for the error's text.
 * @throws HarnessError `ConditionMissing` after 3 min; errors of `look`.
 */
export async function poll<T extends object | string | number | true>(
  what: string,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new HarnessError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what}`);
    await wait(lookMs);
  }
}
