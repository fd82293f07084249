/** Numbers of CPUs or NUMA nodes, ascending, each once. */
export type CpuSet = readonly number[];

/** A list of ranges names no number above this one: CPUs of the largest machines are numbered below it. */
const MOST_CPUS = 65_536;

export function cpuSet(numbers: Iterable<number>): CpuSet {
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

export function union(...sets: readonly CpuSet[]): CpuSet {
  return cpuSet(sets.flat());
}

export function difference(set: CpuSet, without: CpuSet): CpuSet {
  const removed = new Set(without);
  return set.filter((one) => !removed.has(one));
}

export function intersection(set: CpuSet, other: CpuSet): CpuSet {
  const kept = new Set(other);
  return set.filter((one) => kept.has(one));
}

export function isSame(a: CpuSet, b: CpuSet): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

/** As a list of ranges (cpuset(7), List format): `0-3,7`. */
export function cpuSetText(set: CpuSet): string {
  const ranges: [first: number, last: number][] = [];
  for (const one of set) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === one - 1) range[1] = one;
    else ranges.push([one, one]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

/** Undefined: not a list of ranges (cpuset(7), List format), or one with a number above 65535. */
export function parseCpuSet(text: string): CpuSet | undefined {
  if (text === '') return [];
  const numbers: number[] = [];
  for (const range of text.split(',')) {
    const [, from = '', to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(range) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === '' || last < first || last >= MOST_CPUS || numbers.length >= MOST_CPUS) return undefined;
    for (let one = first; one <= last; one += 1) numbers.push(one);
  }
  return cpuSet(numbers);
}
