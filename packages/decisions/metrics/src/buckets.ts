/** Bounds in seconds for operations that take milliseconds to seconds: the Prometheus defaults. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` bounds: the first is `first`, each following one is `factor` times the previous one. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = first; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}
