import { type Conditions, HANGING_MS } from '@kubus/ports/testing';
import { HarnessError } from './errors.ts';

export interface Search<T> {
  /** The awaited condition, for error texts. */
  readonly what: string;
  /** Undefined until it is found. */
  readonly look: () => T | undefined;
  /** The current state, for the error text. */
  readonly describe: () => string;
  /** Default: {@link HANGING_MS}. */
  readonly limitMs?: number | undefined;
}

/**
 * Resolves with the result of `look` as soon as it is not undefined.
 *
 * @throws HarnessError `ConditionMissing` after `limitMs`; errors of `look`.
 */
export async function findWithin<T>(conditions: Conditions, search: Search<T>): Promise<T> {
  const { what, look, describe, limitMs = HANGING_MS } = search;
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new HarnessError('ConditionMissing', `Not within ${limitMs / 1000} s: ${what}\n${describe()}`));
  }, limitMs);
  try {
    return await conditions.find(look, limit.signal);
  } finally {
    clearTimeout(timer);
  }
}
