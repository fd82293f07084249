import type { Labels, MetricFamily, MetricSample, MetricSeries } from '@kubus/metrics';

/** What one instance of a service shows of itself. */
export interface InstanceFamilies {
  readonly service: string;
  readonly instance: string;
  /** Of its process, which services may share. */
  readonly pid: number;
  readonly families: readonly MetricFamily[];
}

/** Of these the least is the node's, not the sum. */
const LEAST: ReadonlySet<string> = new Set(['process_start_time_seconds']);

/**
 * The metrics of the node, from those of its services, by name. What only Kubus has (`kubus_`) says from which instance it is.
 * Everything else has a meaning for the node as a whole, as for the one process that the reference is: samples of the same
 * labels are added up, those of a process (`process_`) once, however many services are in it.
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

/** Services of different versions may disagree about a metric's type: the first one counts. */
function together(before: MetricFamily, next: MetricFamily): MetricFamily {
  if (before.type === 'histogram') {
    return next.type === 'histogram' ? { ...before, series: joined(before.series, next.series, addSeries) } : before;
  }
  if (next.type !== before.type) return before;
  return { ...before, samples: joined(before.samples, next.samples, LEAST.has(before.name) ? lesser : addSample) };
}

/** Both lists as one; what has the same labels in both becomes one. */
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

/** Bounds that only one of them has, as of another version, are left out. */
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
