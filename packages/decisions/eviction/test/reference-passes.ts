/**
 * Passes of the reference kubelet 1.36 while a pod took memory, gave it back and took it again: milliseconds since the first of them, bytes
 * that were left, and its conditions. Threshold 400Mi, transition period 40 s.
 */
export const comesBack: readonly {
  readonly atMs: number;
  readonly available: number;
  readonly conditions: readonly string[];
}[] = [
  { atMs: 0, available: 312860672, conditions: ['MemoryPressure'] },
  { atMs: 10068, available: 312860672, conditions: ['MemoryPressure'] },
  { atMs: 20161, available: 733200384, conditions: ['MemoryPressure'] },
  { atMs: 30783, available: 733253632, conditions: ['MemoryPressure'] },
  { atMs: 41663, available: 312856576, conditions: ['MemoryPressure'] },
  { atMs: 52016, available: 312856576, conditions: ['MemoryPressure'] },
  { atMs: 62402, available: 733147136, conditions: ['MemoryPressure'] },
  { atMs: 72659, available: 733249536, conditions: ['MemoryPressure'] },
  { atMs: 82961, available: 733257728, conditions: ['MemoryPressure'] },
  { atMs: 93362, available: 733253632, conditions: [] },
  { atMs: 103500, available: 733253632, conditions: [] },
  { atMs: 113567, available: 732897280, conditions: [] },
];
