import type { KubeError } from './kube-error.ts';
import { isExpired } from './kube-error.ts';

/** The first wait after a failure is between this many milliseconds and twice as many. */
const FIRST_WAIT_MS = 800;
const LONGEST_WAIT_MS = 30_000;
/** After this many consecutive refusals the server may never have the version: the watch is ended and everything is listed again. */
const REFUSALS_UNTIL_LIST = 3;

/** The state of a list and watch. */
export interface WatchState {
  /** The version from which to watch; undefined: a list is needed. */
  readonly resourceVersion: string | undefined;
  /** The list is requested in one piece: a version was dropped while its pages were read. */
  readonly whole: boolean;
  /** The version is that of a list, and no watch from it has succeeded yet. */
  readonly fresh: boolean;
  /** Number of failures since the last success. */
  readonly failures: number;
}

export const beforeFirstList: WatchState = { resourceVersion: undefined, whole: false, fresh: false, failures: 0 };

export type WatchOutcome =
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'list-failed'; readonly error: KubeError }
  | {
      readonly kind: 'watch-ended';
      /** The newest version that it reported. */
      readonly resourceVersion: string;
      /** An event or a bookmark arrived, or it lasted long enough. */
      readonly healthy: boolean;
      /** Undefined: the server ended it normally, or it stalled. */
      readonly error?: KubeError | undefined;
    };

/**
 * The next step, and its delay in milliseconds. A watch that ends continues from its version, without a list; only a
 * version that the server has dropped (410), or that it refuses repeatedly, leads to a list. After failures the delay
 * doubles each time up to half a minute, and is longer where the server asks for it.
 *
 * @param random between 0 and 1, spreads the delays of many nodes
 */
export function afterOutcome(
  state: WatchState,
  outcome: WatchOutcome,
  random: number,
): { readonly state: WatchState; readonly waitMs: number } {
  const failed = (before: number, rest: Omit<WatchState, 'failures'>, error: KubeError | undefined) => {
    const failures = before + 1;
    return {
      state: { ...rest, failures },
      waitMs: Math.max(waitAfter(failures, random), error?.retryAfterMs ?? 0),
    };
  };
  switch (outcome.kind) {
    case 'listed':
      return {
        state: { ...state, resourceVersion: outcome.resourceVersion, whole: false, fresh: true },
        waitMs: 0,
      };
    case 'list-failed': {
      const { error } = outcome;
      const forgotten = isExpired(error) && !state.whole;
      if (forgotten) return { state: { ...state, whole: true }, waitMs: 0 };
      return failed(state.failures, state, error);
    }
    case 'watch-ended': {
      const { resourceVersion, healthy, error } = outcome;
      const before = healthy ? 0 : state.failures;
      const again = { resourceVersion, whole: false, fresh: false };
      if (error === undefined) {
        return healthy ? { state: { ...again, failures: 0 }, waitMs: 0 } : failed(before, again, undefined);
      }
      const relist = { resourceVersion: undefined, whole: false, fresh: false };
      if (isExpired(error)) {
        // A long absence leads to it; only a server that immediately drops what it has listed is faulty.
        return state.fresh && !healthy
          ? failed(before, relist, error)
          : { state: { ...relist, failures: before }, waitMs: 0 };
      }
      const refused = error.status !== undefined && error.status !== 429;
      return failed(before, refused && before + 1 >= REFUSALS_UNTIL_LIST ? relist : again, error);
    }
  }
}

function waitAfter(failures: number, random: number): number {
  const longest = Math.min(LONGEST_WAIT_MS, 2 * FIRST_WAIT_MS * 2 ** (failures - 1));
  return longest * (0.5 + random / 2);
}
