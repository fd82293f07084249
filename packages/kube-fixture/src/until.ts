import { KubeFixtureError } from './errors.ts';

/**
 * Resolves with what `look` gives as soon as it gives something: it looks now, and each time that `follow` calls back.
 *
 * @param what for people, when it took too long.
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
