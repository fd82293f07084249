import type { PressureCondition } from '@kubus/contracts';

/** What runs short when a signal falls below its threshold: the name that the reference uses in its messages. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

interface SignalMeaning {
  readonly condition: PressureCondition;
  readonly resource: StarvedResource;
}

const memory: SignalMeaning = { condition: 'MemoryPressure', resource: 'memory' };
const disk: SignalMeaning = { condition: 'DiskPressure', resource: 'ephemeral-storage' };
const inodes: SignalMeaning = { condition: 'DiskPressure', resource: 'inodes' };

/** Every signal of the node that can have a threshold (behaviour:eviction), with the condition that it sets. */
export const SIGNALS = {
  'memory.available': memory,
  'allocatableMemory.available': memory,
  'nodefs.available': disk,
  'nodefs.inodesFree': inodes,
  'imagefs.available': disk,
  'imagefs.inodesFree': inodes,
  'containerfs.available': disk,
  'containerfs.inodesFree': inodes,
  'pid.available': { condition: 'PIDPressure', resource: 'pids' },
} as const satisfies Readonly<Record<string, SignalMeaning>>;
export type Signal = keyof typeof SIGNALS;

export function isSignal(name: string): name is Signal {
  return Object.hasOwn(SIGNALS, name);
}

/** What a signal was at one time, in bytes, inodes or processes. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** Signals that could not be read are missing. */
export type Observations = Readonly<Partial<Record<Signal, Observation>>>;
