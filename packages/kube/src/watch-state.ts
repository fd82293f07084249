import type { KubeError } from './kube-error.ts';
import { isExpired } from './kube-error.ts';

/** The first wait after a failure is between this many milliseconds and twice as many. */
const FIRST_WAIT_MS = 800;
const LONGEST_WAIT_MS = 30_000;
/** Refused so often without a pause of health, a watch may be at a version that the server never has: it is given up. */
const REFUSALS_UNTIL_LIST = 3;

/** Where a list and watch is. */
export interface WatchState {
  /** From which version on to watch; undefined: a list is needed. */
  readonly resourceVersion: string | undefined;
  /** The list is asked for in one piece: a version was forgotten while its pieces were read. */
  readonly whole: boolean;
  /** The version is that of a list, and no watch from it has come to anything yet. */
  readonly fresh: boolean;
  /** Since anything went well. */
  readonly failures: number;
}

export const beforeFirstList: WatchState = { resourceVersion: undefined, whole: false, fresh: false, failures: 0 };

export type WatchOutcome =
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'list-failed'; readonly error: KubeError }
  | {
      readonly kind: 'watch-ended';
      /** The newest version that it told of. */
      readonly resourceVersion: string;
      /** An event or a bookmark came, or it lasted. */
      readonly healthy: boolean;
      /** Undefined: the server ended it in order, or it was stalled. */
      readonly error?: KubeError | undefined;
    };

/**
 * What follows, and after how many milliseconds. A watch that ends goes on from where it was, without a list; only a
 * version that the server has forgotten (410), or that it refuses again and again, leads to one. After failures it waits,
 * twice as long each time up to half a minute, and longer where the server asks for it.
 *
 * @param random between 0 and 1, spreads the waits of many nodes
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
      const anew = { resourceVersion: undefined, whole: false, fresh: false };
      if (isExpired(error)) {
        // It is what a long absence leads to; only a server that forgets at once what it has listed is faulty.
        return state.fresh && !healthy
          ? failed(before, anew, error)
          : { state: { ...anew, failures: before }, waitMs: 0 };
      }
      const refused = error.status !== undefined && error.status !== 429;
      return failed(before, refused && before + 1 >= REFUSALS_UNTIL_LIST ? anew : again, error);
    }
  }
}

function waitAfter(failures: number, random: number): number {
  const longest = Math.min(LONGEST_WAIT_MS, 2 * FIRST_WAIT_MS * 2 ** (failures - 1));
  return longest * (0.5 + random / 2);
}
