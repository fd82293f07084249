import type { ComparedSide, ComparedStep, Comparison, LatencyDocument, PodSummary } from '@kubus/contracts/observatory';
import { type PodPaths, latencyOf, mergedOrder } from './latency.ts';
import { ascending, quantile } from './quantile.ts';

/** One side of a comparison: all pods of a recording, or the one that `pod` names. */
export interface ComparedStories {
  readonly recording: string;
  readonly pod?: PodSummary;
  readonly pods: Iterable<PodPaths>;
}

/** Smaller differences are ignored, in milliseconds. */
const LEAST_MS = 1;

/** Two pods or two recordings, aligned by step. */
export function compare(what: 'start' | 'stop', left: ComparedStories, right: ComparedStories): Comparison {
  const [one, other] = [latencyOf(what, left.pods), latencyOf(what, right.pods)];
  const [before, after] = [stepsOf(one), stepsOf(other)];
  const steps = mergedOrder([[...before.keys()], [...after.keys()]]).map((step): ComparedStep => {
    const [was, is] = [before.get(step), after.get(step)];
    return {
      step,
      service: (was ?? is)?.service ?? '',
      ...(was !== undefined && { left: was.median }),
      ...(is !== undefined && { right: is.median }),
      verdict: verdictOf(was, is),
    };
  });
  return { what, left: sideOf(left, one), right: sideOf(right, other), steps };
}

interface Measured {
  readonly service: string;
  readonly median: number;
  /** The uncertainty of a median of so many values. */
  readonly noise: number;
}

function stepsOf({ segments }: LatencyDocument): Map<string, Measured> {
  return new Map(
    segments.map(({ step, service, ms }) => [step, { service, ...measured(ms.filter((one) => one !== null)) }]),
  );
}

/**
 * The noise is the half width of a notch of McGill, Tukey and Larsen ("Variations of box plots", 1978): medians whose
 * notches do not overlap are different with a confidence of about 95 %.
 */
function measured(values: readonly number[]): Pick<Measured, 'median' | 'noise'> {
  const sorted = ascending(values);
  const spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  return { median: quantile(sorted, 0.5), noise: (1.58 * spread) / Math.sqrt(sorted.length) };
}

function verdictOf(left: Measured | undefined, right: Measured | undefined): ComparedStep['verdict'] {
  if (left === undefined) return 'added';
  if (right === undefined) return 'missing';
  const difference = right.median - left.median;
  if (Math.abs(difference) <= Math.max(LEAST_MS, left.noise + right.noise)) return 'same';
  return difference > 0 ? 'slower' : 'faster';
}

/** A side without such a path has no time. */
function sideOf({ recording, pod }: ComparedStories, { ms }: LatencyDocument): ComparedSide {
  const whole = ms.length === 0 ? 0 : quantile(ascending(ms), 0.5);
  return { recording, ...(pod !== undefined && { pod }), pods: ms.length, ms: whole };
}
