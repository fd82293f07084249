/** The nearest-rank quantile of numbers in ascending order; `share` from 0 to 1. NaN of none. */
export function quantile(sorted: readonly number[], share: number): number {
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? NaN;
}

export function ascending(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
