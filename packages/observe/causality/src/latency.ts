import type {
  CriticalPath,
  LatencyDocument,
  PodSummary,
  Segment,
  SegmentStatistics,
} from '@kubus/contracts/observatory';
import { ascending, quantile } from './quantile.ts';

/** The part of a `PodTimeline` that latency and comparison need. */
export interface PodPaths {
  readonly pod: PodSummary;
  readonly paths: readonly TimedPath[];
}

/** The part of a path that its length depends on. */
interface TimedPath extends Pick<CriticalPath, 'what' | 'ms'> {
  readonly segments: readonly Pick<Segment, 'step' | 'service' | 'ms'>[];
}

/** Over all pods that have such a path. `pods` is read once. */
export function latencyOf(what: 'start' | 'stop', pods: Iterable<PodPaths>): LatencyDocument {
  const summaries: PodSummary[] = [];
  const ms: number[] = [];
  const orders: string[][] = [];
  const steps = new Map<string, { service: string; durations: Map<number, number> }>();
  for (const { pod, paths } of pods) {
    const path = paths.find((one) => one.what === what);
    if (path === undefined) continue;
    for (const { step, service, ms: duration } of path.segments) {
      const known = steps.get(step) ?? { service, durations: new Map<number, number>() };
      steps.set(step, known);
      known.durations.set(summaries.length, duration);
    }
    orders.push(path.segments.map(({ step }) => step));
    summaries.push(pod);
    ms.push(path.ms);
  }
  const segments = mergedOrder(orders).map((step): SegmentStatistics => {
    const { service = '', durations = new Map<number, number>() } = steps.get(step) ?? {};
    const sorted = ascending(durations.values());
    return {
      step,
      service,
      ms: summaries.map((_, index) => durations.get(index) ?? null),
      p50: quantile(sorted, 0.5),
      p95: quantile(sorted, 0.95),
      max: quantile(sorted, 1),
    };
  });
  return { what, pods: summaries, ms, segments };
}

/**
 * Merges several orders of names. A name follows those before it in the order that added it; where orders contradict
 * each other, the first one wins.
 */
export function mergedOrder(orders: readonly (readonly string[])[]): string[] {
  const merged: string[] = [];
  const known = new Set<string>();
  for (const order of orders) {
    let at = 0;
    for (const name of order) {
      if (known.has(name)) {
        at = Math.max(at, merged.indexOf(name) + 1);
        continue;
      }
      merged.splice(at, 0, name);
      known.add(name);
      at += 1;
    }
  }
  return merged;
}
