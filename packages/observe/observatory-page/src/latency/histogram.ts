import type { LatencyDocument } from '@kubus/contracts/observatory';
import { bin, quantileSorted } from 'd3-array';
import { byPlace } from '../theme/services.ts';

export interface HistogramBar {
  /** Milliseconds; `to` is exclusive, except in the last bar. */
  readonly from: number;
  readonly to: number;
  /** Indexes of the pods in it. */
  readonly pods: readonly number[];
  /** The share of each service, as parts of the number of pods, from bottom to top. */
  readonly parts: readonly { readonly service: string; readonly pods: number }[];
}

/** The step of a histogram; undefined for the whole latency. */
export function valuesOf({ ms, segments }: LatencyDocument, step: string | undefined): readonly (number | null)[] {
  return step === undefined ? ms : (segments.find((segment) => segment.step === step)?.ms ?? []);
}

/** Pods by latency. Each bar is divided like the time of its pods among the services. */
export function histogramOf(document: LatencyDocument, step: string | undefined, bars: number): HistogramBar[] {
  const values = valuesOf(document, step);
  const known = values.flatMap((value, pod) => (value === null ? [] : [{ pod, value }]));
  return bin<{ pod: number; value: number }, number>()
    .value(({ value }) => value)
    .thresholds(bars)(known)
    .map((inside): HistogramBar => {
      const pods = inside.map(({ pod }) => pod);
      return { from: inside.x0 ?? 0, to: inside.x1 ?? 0, pods, parts: partsOf(document, step, pods) };
    });
}

function partsOf(document: LatencyDocument, step: string | undefined, pods: readonly number[]): HistogramBar['parts'] {
  const own = step === undefined ? document.segments : document.segments.filter((segment) => segment.step === step);
  const sums = new Map<string, number>();
  for (const { service, ms } of own) {
    for (const pod of pods) sums.set(service, (sums.get(service) ?? 0) + (ms[pod] ?? 0));
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0);
  if (total === 0) return [];
  return [...sums]
    .sort(([a], [b]) => byPlace(a, b))
    .map(([service, sum]) => ({ service, pods: (sum / total) * pods.length }));
}

export interface Spread {
  readonly pods: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export function spreadOf(values: readonly (number | null)[]): Spread {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return {
    pods: sorted.length,
    p50: quantileSorted(sorted, 0.5) ?? 0,
    p95: quantileSorted(sorted, 0.95) ?? 0,
    max: sorted.at(-1) ?? 0,
  };
}
