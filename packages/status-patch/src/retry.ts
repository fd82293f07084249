/** Why a write did not succeed, as far as it decides what is done about it. */
interface WriteFailure {
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
}

/**
 * What a failed write says about others. `server`: there is no answer, or nobody is served now, so that nothing else is
 * tried either. `stale`: the object is gone or another one, which the next news of it will tell. `object`: this one write.
 */
export type FailureScope = 'server' | 'stale' | 'object';

export function failureScope({ status }: WriteFailure, creates: boolean): FailureScope {
  if (status === undefined || status === 401 || status === 429 || status === 503) return 'server';
  // What is missing then is the namespace, of which no news come.
  if (creates && status === 404) return 'object';
  return status === 404 || status === 409 ? 'stale' : 'object';
}

/** The first wait after a failure, and the longest, in milliseconds. */
const FIRST_MS = 1_000;
const LONGEST_MS: Readonly<Record<FailureScope, number>> = { server: 30_000, stale: 300_000, object: 60_000 };

/**
 * Milliseconds until the next try: twice as long after each failure, and up to half as much again, so that not all nodes
 * of a cluster come back at the same moment.
 *
 * @param failures in a row, this one included
 * @param fraction random, from 0 to 1
 */
export function retryMs(scope: FailureScope, failures: number, fraction: number): number {
  const wait = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS[scope]);
  return wait * (1 + fraction / 2);
}
