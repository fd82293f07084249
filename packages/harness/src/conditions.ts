import { toError } from '@kubus/ports';
import { HarnessError } from './errors.ts';

interface Awaited {
  look(): boolean;
}

/** What hangs ends after this, in milliseconds. It says nothing about how long anything should take. */
const LIMIT_MS = 180_000;

/** Things that tests wait for: each is looked at again whenever something has changed. */
export class Conditions {
  readonly #awaited = new Set<Awaited>();
  readonly #followers = new Set<() => void>();

  /** To be called after every change. */
  changed(): void {
    for (const follower of [...this.#followers]) follower();
    for (const one of [...this.#awaited]) if (one.look()) this.#awaited.delete(one);
  }

  /** Calls `follower` after every change. The result ends it. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /**
   * Resolves with what `look` gives as soon as it gives something.
   *
   * @param what for people: what is waited for.
   * @param describe the present state, for the error's text.
   * @throws HarnessError `ConditionMissing` after `limitMs`; what `look` throws.
   */
  until<T>(what: string, look: () => T | undefined, describe: () => string = () => '', limitMs = LIMIT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const awaited = {
        look: () => {
          try {
            const found = look();
            if (found === undefined) return false;
            resolve(found);
          } catch (error) {
            reject(toError(error));
          }
          clearTimeout(limit);
          return true;
        },
      };
      const limit = setTimeout(() => {
        this.#awaited.delete(awaited);
        reject(new HarnessError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what}\n${describe()}`));
      }, limitMs);
      if (!awaited.look()) this.#awaited.add(awaited);
    });
  }
}
