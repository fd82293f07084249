import type { DensityDocument } from '@kubus/contracts/observatory';
import { byPlace } from '../theme/services.ts';

/** Milliseconds since the Unix epoch. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface Bar {
  readonly service: string;
  readonly bucket: number;
  /** Messages below and above this part of the bar. */
  readonly base: number;
  readonly top: number;
}

/** The stacked services of a density, in the order in which a pod reaches them. */
export function stackDensity({ services }: DensityDocument): { bars: readonly Bar[]; max: number } {
  const bars: Bar[] = [];
  const tops: number[] = [];
  for (const { service, counts } of services.toSorted((a, b) => byPlace(a.service, b.service))) {
    counts.forEach((messages, bucket) => {
      const base = tops[bucket] ?? 0;
      if (messages > 0) bars.push({ service, bucket, base, top: base + messages });
      tops[bucket] = base + messages;
    });
  }
  return { bars, max: tops.reduce((max, top) => Math.max(max, top), 0) };
}

export interface SaidByService {
  readonly service: string;
  readonly messages: number;
  /** Messages per second, on average. */
  readonly rate: number;
}

/** The number of messages of each service, in the order in which a pod reaches them. */
export function saidByService({ from, to, services }: DensityDocument): SaidByService[] {
  const seconds = (to - from) / 1000;
  return services
    .map(({ service, counts }) => {
      const messages = counts.reduce((sum, one) => sum + one, 0);
      return { service, messages, rate: seconds > 0 ? messages / seconds : 0 };
    })
    .sort((a, b) => byPlace(a.service, b.service));
}

/** The approximate number of messages in a range; partial buckets count proportionally. */
export function messagesIn({ from, bucketMs, services }: DensityDocument, range: TimeRange): number {
  let sum = 0;
  for (const { counts } of services) {
    counts.forEach((messages, bucket) => {
      const begin = from + bucket * bucketMs;
      const shared = Math.min(range.to, begin + bucketMs) - Math.max(range.from, begin);
      if (shared > 0 && bucketMs > 0) sum += messages * (shared / bucketMs);
    });
  }
  return Math.round(sum);
}

/**
 * The range after a key: arrow keys move it by a twentieth of the whole, with Shift they move its end; Escape clears it.
 * The first arrow key creates one of a tenth. Undefined: the key has no effect.
 */
export function rangeAfterKey(
  whole: TimeRange,
  range: TimeRange | undefined,
  key: string,
  shift: boolean,
): TimeRange | 'none' | undefined {
  if (key === 'Escape' || key === 'Delete') return range === undefined ? undefined : 'none';
  const direction = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
  if (direction === 0) return undefined;
  const length = whole.to - whole.from;
  if (range === undefined) {
    return direction > 0
      ? { from: whole.from, to: whole.from + length / 10 }
      : { from: whole.to - length / 10, to: whole.to };
  }
  const step = (direction * length) / 20;
  if (shift) return { from: range.from, to: clamp(range.to + step, range.from + length / 200, whole.to) };
  const from = clamp(range.from + step, whole.from, whole.to - (range.to - range.from));
  return { from, to: from + (range.to - range.from) };
}

/** The range in a view's address; undefined if there is none or it is invalid. */
export function rangeOf(query: Readonly<Record<string, string>>): TimeRange | undefined {
  const from = Number(query['from'] ?? NaN);
  const to = Number(query['to'] ?? NaN);
  return from < to ? { from, to } : undefined;
}

/** Parameters of an address for a range. */
export function rangeQuery(range: TimeRange | undefined): { from: string | undefined; to: string | undefined } {
  return { from: range?.from.toFixed(3), to: range?.to.toFixed(3) };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
