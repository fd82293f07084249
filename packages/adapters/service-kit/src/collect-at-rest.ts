import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often a process looks whether it is at rest, in milliseconds. */
const LOOK_MS = 5_000;
/** At rest it uses less than this share of a core. */
const REST = 0.05;
/** A young generation of this size, in bytes, is worth a full collection. */
const LARGE = 8 * 1024 * 1024;

/** How a process has spent the time since the last look. */
export interface Look {
  /** CPU time, and the time itself, in milliseconds. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** Memory of the young generation, in bytes. */
  readonly youngBytes: number;
}

/** Whether the young generation has grown and nothing needs it any more. */
export function isCollectionDue({ cpuMs, elapsedMs, youngBytes }: Look): boolean {
  return youngBytes >= LARGE && cpuMs < REST * elapsedMs;
}

/** Memory of the young generation, in bytes. */
export function youngGeneration(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.physical_space_size ?? 0;
}

/**
 * Gives the memory of the young generation back when the process is at rest: by itself V8 keeps it at the size to which the last work has
 * grown it. The collection takes about 20 ms of CPU; it does not happen again before the young generation has grown again.
 */
export function collectAtRest(): void {
  const collect = garbageCollector();
  let [cpu, at] = [process.cpuUsage(), performance.now()];
  setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - at;
    if (isCollectionDue({ cpuMs: (user + system) / 1_000, elapsedMs, youngBytes: youngGeneration() })) collect();
    [cpu, at] = [process.cpuUsage(), performance.now()];
  }, LOOK_MS).unref();
}

/** A full collection that also shrinks the young generation, which only V8's last resort does. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
