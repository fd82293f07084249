/** The properties of a failed write that determine what is done about it. */
interface WriteFailure {
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
}

/**
 * What a failed write means for other writes. `server`: the API server does not answer or serves no requests now, so no
 * other write is attempted. `stale`: the object was removed or replaced, which its watch will report. `object`: only this
 * write is affected.
 */
export type FailureScope = 'server' | 'stale' | 'object';

export function failureScope({ status }: WriteFailure, creates: boolean): FailureScope {
  if (status === undefined || status === 401 || status === 429 || status === 503) return 'server';
  // In this case the namespace does not exist, which is not watched.
  if (creates && status === 404) return 'object';
  return status === 404 || status === 409 ? 'stale' : 'object';
}

/** The first and the maximum delay after a failure, in milliseconds. */
const FIRST_MS = 1_000;
const LONGEST_MS: Readonly<Record<FailureScope, number>> = { server: 30_000, stale: 300_000, object: 60_000 };

/**
 * Milliseconds until the next attempt: twice as long after each failure, plus up to half as much again, so that not all nodes
 * of a cluster retry at the same moment.
 *
 * @param failures in a row, including this one
 * @param fraction random, from 0 to 1
 */
export function retryMs(scope: FailureScope, failures: number, fraction: number): number {
  const wait = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS[scope]);
  return wait * (1 + fraction / 2);
}
