import { setTimeout as wait } from 'node:timers/promises';
import { HarnessError } from './errors.ts';

const lookMs = 20;
/** What hangs ends after this, in milliseconds. It says nothing about how long anything should take. */
const limitMs = 180_000;

/**
 * Resolves with what `look` gives as soon as it gives something. For what nobody tells of when it changes: processes that
 * are not our children, mounts, a runtime's lists.
 *
 * @param what for people: what is waited for.
 * @throws HarnessError `ConditionMissing` after 3 min; what `look` throws.
 */
export async function poll<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new HarnessError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what}`);
    await wait(lookMs);
  }
}
