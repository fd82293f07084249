/** The nearest-rank quantile of numbers in ascending order; `share` from 0 to 1. NaN for no values. */
export function quantile(sorted: readonly number[], share: number): number {
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? NaN;
}

export function ascending(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The same for values with counts, in ascending order. */
export function countedQuantile(
  sorted: readonly { readonly value: number; readonly count: number }[],
  share: number,
): number {
  const rank = Math.ceil(share * sorted.reduce((sum, { count }) => sum + count, 0));
  let passed = 0;
  for (const { value, count } of sorted) {
    passed += count;
    if (passed >= rank) return value;
  }
  return NaN;
}
