import type { CriticalPath, LatencyDocument, PodSummary, Segment, SegmentStatistics } from '@kubus/observatory-api';
import { ascending, quantile } from './quantile.ts';

/** What latency and comparison need of a pod; a `PodTimeline` is one, and much smaller ones will do. */
export interface PodPaths {
  readonly pod: PodSummary;
  readonly paths: readonly TimedPath[];
}

/** A path, as far as its length goes. */
export interface TimedPath extends Pick<CriticalPath, 'what' | 'ms'> {
  readonly segments: readonly Pick<Segment, 'step' | 'service' | 'ms'>[];
}

/** Over all pods that have such a path. `pods` is gone through once. */
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
 * One order out of several, each of different names. A name stands behind those that came before it in the order that
 * brought it; where orders contradict each other, the first one counts.
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
