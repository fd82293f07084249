import { KubeFixtureError } from './errors.ts';

/**
 * Resolves with the result of `look` as soon as it is defined: it is called now, and each time `follow` calls back.
 *
 * @param what the condition, for the error text.
 * @param limitMs milliseconds.
 * @throws KubeFixtureError `ConditionMissing`.
 */
export async function until<T>(
  look: () => T | undefined,
  what: () => string,
  limitMs: number,
  follow: (listener: () => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => {
      clearTimeout(timer);
      unfollow();
      act();
    };
    const check = () => {
      const found = look();
      if (found !== undefined) end(() => resolve(found));
    };
    const timer = setTimeout(() => {
      end(() => reject(new KubeFixtureError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what()}`)));
    }, limitMs);
    const unfollow = follow(check);
    check();
  });
}
