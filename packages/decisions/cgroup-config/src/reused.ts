import { isDeepEqual } from '@kubus/pod';

/**
 * `before` where `now` equals it. A value that is read repeatedly and seldom changes then stays the same object, and
 * short-lived copies do not reach the old generation, where they would cause a garbage collection of the whole heap.
 */
export function reused<T extends object>(before: T | undefined, now: T): T {
  return before !== undefined && isDeepEqual(before, now) ? before : now;
}
