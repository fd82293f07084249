import type { UsagePoint, UsageReading } from './usage-reading.ts';

/** What is used now: CPU as the mean of a window, memory at its end. */
export interface Usage {
  /** Billionths of a CPU. */
  readonly nanoCores: number;
  readonly memoryBytes: number;
  /** The end of the window, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly windowMs: number;
}

/** How old a container is at least whose CPU time is counted from its start, in milliseconds, as in metrics-server. */
const FRESH_MS = 10_000;

/** What a node uses; undefined: the readings give no rate. */
export function nodeUsage(before: UsageReading, now: UsageReading): Usage | undefined {
  return usageOf(before.node, now.node);
}

/**
 * What the containers of a pod use, by name; undefined: not known of all of them, as of a pod that has just started. Source: metrics-server,
 * pkg/storage.
 *
 * @param pod `namespace/name`.
 */
export function podUsage(before: UsageReading, now: UsageReading, pod: string): ReadonlyMap<string, Usage> | undefined {
  const containers = now.pods.get(pod);
  if (containers === undefined || containers.size === 0) return undefined;
  const usages = new Map<string, Usage>();
  for (const [name, point] of containers) {
    const usage = usageOf(baseOf(before.pods.get(pod)?.get(name), point), point);
    if (usage === undefined) return undefined;
    usages.set(name, usage);
  }
  return usages;
}

/** From where the CPU time of a container counts: the reading before, or its start since then. */
function baseOf(before: UsagePoint | undefined, { startedAtMs, atMs }: UsagePoint): UsagePoint | undefined {
  const isNewer = startedAtMs !== undefined && (before === undefined || startedAtMs > before.atMs);
  if (!isNewer) return before;
  if (atMs - startedAtMs < FRESH_MS) return undefined;
  return { atMs: startedAtMs, cpuSeconds: 0, memoryBytes: 0, startedAtMs };
}

function usageOf(before: UsagePoint | undefined, now: UsagePoint | undefined): Usage | undefined {
  if (before === undefined || now === undefined) return undefined;
  const windowMs = now.atMs - before.atMs;
  const seconds = now.cpuSeconds - before.cpuSeconds;
  if (windowMs <= 0 || seconds < 0) return undefined;
  return {
    nanoCores: Math.round((seconds * 1e12) / windowMs),
    memoryBytes: now.memoryBytes,
    atMs: now.atMs,
    windowMs,
  };
}
