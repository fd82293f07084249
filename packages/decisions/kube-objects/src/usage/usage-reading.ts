/** What was used until one moment. */
export interface UsagePoint {
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Milliseconds since the Unix epoch; undefined: unknown. */
  readonly startedAtMs: number | undefined;
}

/** What a node says of itself and of the containers of its pods at one time. */
export interface UsageReading {
  readonly node: UsagePoint | undefined;
  /** By `namespace/name` of the pod, and name of the container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsagePoint>>;
}

const FIELDS = {
  cpu_usage_seconds_total: 'cpu',
  memory_working_set_bytes: 'memory',
  start_time_seconds: 'start',
} as const;
const LINE =
  /^(container|node)_(cpu_usage_seconds_total|memory_working_set_bytes|start_time_seconds)(?:\{(.*)\})? (\S+)(?: (\d+))?$/;
const LABEL = /(\w+)="([^"]*)"/g;

interface Sample {
  readonly value: number;
  readonly atMs: number;
}

type Samples = Partial<Record<(typeof FIELDS)[keyof typeof FIELDS], Sample>>;

/**
 * Reads the metrics of `/metrics/resource` (Prometheus' text format); what it does not know is left out. A container without a CPU time or
 * without memory has no point.
 */
export function usageReading(text: string): UsageReading {
  const node: Samples = {};
  const pods = new Map<string, Map<string, Samples>>();
  for (const line of text.split('\n')) {
    const [, whose, name, labels = '', value, time] = LINE.exec(line) ?? [];
    if (whose === undefined) continue;
    const of = whose === 'node' ? node : samplesOf(pods, labels);
    of[FIELDS[name as keyof typeof FIELDS]] = { value: Number(value), atMs: Number(time) };
  }
  return { node: pointOf(node), pods: new Map([...pods].map(([pod, containers]) => [pod, pointsOf(containers)])) };
}

function samplesOf(pods: Map<string, Map<string, Samples>>, labels: string): Samples {
  const {
    namespace = '',
    pod = '',
    container = '',
  } = Object.fromEntries([...labels.matchAll(LABEL)].map(([, name = '', value = '']) => [name, value]));
  const key = `${namespace}/${pod}`;
  const containers = pods.get(key) ?? new Map<string, Samples>();
  const samples = containers.get(container) ?? {};
  pods.set(key, containers.set(container, samples));
  return samples;
}

function pointsOf(containers: ReadonlyMap<string, Samples>): ReadonlyMap<string, UsagePoint> {
  const points = new Map<string, UsagePoint>();
  for (const [name, samples] of containers) {
    const point = pointOf(samples);
    if (point !== undefined) points.set(name, point);
  }
  return points;
}

function pointOf({ cpu, memory, start }: Samples): UsagePoint | undefined {
  if (cpu === undefined || memory === undefined) return undefined;
  const { atMs, value: cpuSeconds } = cpu;
  if (![atMs, cpuSeconds, memory.value].every(Number.isFinite)) return undefined;
  const startedAtMs = start === undefined ? undefined : start.value * 1000;
  return { atMs, cpuSeconds, memoryBytes: memory.value, startedAtMs };
}
