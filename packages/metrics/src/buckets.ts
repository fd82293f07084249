/** Bounds in seconds that suit what answers in milliseconds to seconds: Prometheus' own. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` bounds, of which the first is `first` and each further one is `factor` times the one before. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = first; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}
