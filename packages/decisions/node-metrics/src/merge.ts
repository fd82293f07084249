import type { Labels, MetricFamily, MetricSample, MetricSeries } from '@kubus/metrics';

/** The metrics of one instance of a service. */
export interface InstanceFamilies {
  readonly service: string;
  readonly instance: string;
  /** Identifies the process, which several services may share. */
  readonly pid: number;
  readonly families: readonly MetricFamily[];
}

/** For these metrics the node's value is the minimum, not the sum. */
const LEAST: ReadonlySet<string> = new Set(['process_start_time_seconds']);

/**
 * The metrics of the node, merged from those of its services, by name. Metrics that only Kubus has (`kubus_`) are labelled with
 * their instance. All others describe the node as a whole, as they describe the single process of the reference kubelet: samples
 * with the same labels are added up, those of a process (`process_`) once, regardless of the number of services in it.
 */
export function mergeFamilies(instances: readonly InstanceFamilies[]): MetricFamily[] {
  const merged = new Map<string, MetricFamily>();
  const seen = new Set<number>();
  for (const { service, instance, pid, families } of instances) {
    for (const family of families) {
      const { name } = family;
      if (name.startsWith('process_') && seen.has(pid)) continue;
      const next = name.startsWith('kubus_') ? withLabels(family, { service, instance }) : family;
      const before = merged.get(name);
      merged.set(name, before === undefined ? next : together(before, next));
    }
    seen.add(pid);
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function withLabels(family: MetricFamily, more: Labels): MetricFamily {
  const add = <T extends { readonly labels: Labels }>(one: T): T => ({ ...one, labels: { ...one.labels, ...more } });
  if (family.type === 'histogram') return { ...family, series: family.series.map(add) };
  return { ...family, samples: family.samples.map(add) };
}

/** Services of different versions may disagree about a metric's type: the first one takes precedence. */
function together(before: MetricFamily, next: MetricFamily): MetricFamily {
  if (before.type === 'histogram') {
    return next.type === 'histogram' ? { ...before, series: joined(before.series, next.series, addSeries) } : before;
  }
  if (next.type !== before.type) return before;
  return { ...before, samples: joined(before.samples, next.samples, LEAST.has(before.name) ? lesser : addSample) };
}

/** Merges both lists; samples with the same labels become one. */
function joined<T extends { readonly labels: Labels }>(
  first: readonly T[],
  second: readonly T[],
  join: (one: T, other: T) => T,
): T[] {
  const byLabels = new Map(first.map((one) => [keyOf(one.labels), one]));
  for (const one of second) {
    const key = keyOf(one.labels);
    const other = byLabels.get(key);
    byLabels.set(key, other === undefined ? one : join(other, one));
  }
  return [...byLabels.values()];
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function addSample(one: MetricSample, other: MetricSample): MetricSample {
  return { labels: one.labels, value: one.value + other.value };
}

function lesser(one: MetricSample, other: MetricSample): MetricSample {
  return one.value <= other.value ? one : other;
}

/** Bounds that only one of them has, such as one from another version, are omitted. */
function addSeries(one: MetricSeries, other: MetricSeries): MetricSeries {
  const counts = new Map(other.buckets.map(({ le, count }) => [le, count]));
  return {
    labels: one.labels,
    buckets: one.buckets.flatMap(({ le, count }) => {
      const more = counts.get(le);
      return more === undefined ? [] : [{ le, count: count + more }];
    }),
    sum: one.sum + other.sum,
    count: one.count + other.count,
  };
}
