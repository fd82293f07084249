import type { Random } from '@kubus/ports';
/** A difference between two arms, with the bounds of its 95 % confidence interval. */
export interface Difference {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** A statistic: one number of many values. */
export type Statistic = (values: readonly number[]) => number;

/** How many times the runs are resampled. */
const RESAMPLES = 2_000;
/** The share of the results that is cut off at each end. */
const TAIL = 0.025;

/** NaN for no values. */
export const mean: Statistic = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** NaN for no values. */
export const median: Statistic = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
};

/**
 * How much larger a statistic is in the second arm, with a percentile bootstrap interval. Values of one run have more in
 * common with each other than with those of other runs, so whole runs are resampled, with all their values (cluster bootstrap:
 * Davison and Hinkley, Bootstrap Methods and their Application, 3.8).
 *
 * @returns undefined when an arm has no values.
 */
export function difference(
  first: readonly (readonly number[])[],
  second: readonly (readonly number[])[],
  statistic: Statistic,
  random: Random,
): Difference | undefined {
  // A run without measurements adds nothing; a sample of only such runs would have no values.
  const arms = [first, second].map((runs) => runs.filter((run) => run.length > 0));
  const [one = [], other = []] = arms;
  if (one.length === 0 || other.length === 0) return undefined;
  const of = (runs: readonly (readonly number[])[]) => statistic(runs.flat());
  const drawn = Array.from({ length: RESAMPLES }, () => of(resample(other, random)) - of(resample(one, random)));
  drawn.sort((a, b) => a - b);
  return { estimate: of(other) - of(one), low: quantile(drawn, TAIL), high: quantile(drawn, 1 - TAIL) };
}

function resample<T>(items: readonly T[], random: Random): T[] {
  return items.flatMap(() => {
    const drawn = items[random.below(items.length)];
    return drawn === undefined ? [] : [drawn];
  });
}

/** Interpolated between the two nearest values. */
function quantile(sorted: readonly number[], part: number): number {
  const place = part * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
