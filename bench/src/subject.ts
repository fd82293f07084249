/** The subject of a measurement, which starts and ends pods. Times in milliseconds. */
export interface Subject {
  /** Creates a pod; resolves with the time until it was Ready. */
  create(name: string): Promise<number>;
  /** Deletes a pod; resolves with the time until nothing was left of it. */
  remove(name: string): Promise<number>;
}

/** Times in milliseconds. */
export interface OneAtATime {
  readonly created: number[];
  readonly removed: number[];
}

/** Creates pods one after the other, then deletes them one after the other. */
export async function oneAtATime(subject: Subject, names: readonly string[]): Promise<OneAtATime> {
  const [created, removed]: [number[], number[]] = [[], []];
  for (const name of names) created.push(await subject.create(name));
  for (const name of names) removed.push(await subject.remove(name));
  return { created, removed };
}

/** Runs `step` for all names at once; resolves with the milliseconds until the last one was done. */
export async function allAtOnce(names: readonly string[], step: (name: string) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await Promise.all(names.map(step));
  return performance.now() - begin;
}

/** `prefix-0`, `prefix-1`, ... */
export function podNames(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** The median; NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
