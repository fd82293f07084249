import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often a process looks whether it is at rest, in milliseconds. */
const LOOK_MS = 5_000;
/** At rest it uses less than this share of a core. */
const REST = 0.05;
/** A young generation of this size, in bytes, is worth a collection. */
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
 * grown it until that much has been allocated again. Garbage of the old generation is left to V8.
 */
export function collectAtRest(): void {
  const collect = youngCollector();
  let [cpu, at] = [process.cpuUsage(), performance.now()];
  setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - at;
    if (isCollectionDue({ cpuMs: (user + system) / 1_000, elapsedMs, youngBytes: youngGeneration() })) collect();
    [cpu, at] = [process.cpuUsage(), performance.now()];
  }, LOOK_MS).unref();
}

/**
 * A collection of the young generation, 1 ms of CPU. V8 shrinks it then if little has been allocated in the last second. A full one would shrink it only
 * as V8's last resort, which takes 240 ms in a process with 60 pods.
 */
export function youngCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  return () => collect({ type: 'minor', execution: 'sync' });
}
