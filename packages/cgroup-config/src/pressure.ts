/** How long something had to wait, as the kernel tells it (Documentation/accounting/psi.rst). */
export interface Pressure {
  readonly some: PressureOf;
  readonly full: PressureOf;
}

export interface PressureOf {
  /** Percent of the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  /** Microseconds. */
  readonly total: number;
}

/** Missing where the kernel does not tell it. */
export interface Pressures {
  readonly cpu?: Pressure;
  readonly memory?: Pressure;
  readonly io?: Pressure;
}

const none: PressureOf = { avg10: 0, avg60: 0, avg300: 0, total: 0 };

/** A `*.pressure` file. The line `full` is missing for the machine's CPUs on older kernels. */
export function pressureOf(text: string | undefined): Pressure | undefined {
  if (text === undefined) return undefined;
  const some = lineOf(text, 'some');
  return some && { some, full: lineOf(text, 'full') ?? none };
}

function lineOf(text: string, kind: string): PressureOf | undefined {
  const found = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)`, 'm').exec(text);
  if (found === null) return undefined;
  const [, avg10, avg60, avg300, total] = found.map(Number);
  return { avg10: avg10 ?? 0, avg60: avg60 ?? 0, avg300: avg300 ?? 0, total: total ?? 0 };
}

/** Those of a cgroup; undefined where there are none. `read` gives the text of a file of the cgroup in v2. */
export function pressuresOf(read: (file: string) => string | undefined): Pressures | undefined {
  const [cpu, memory, io] = ['cpu.pressure', 'memory.pressure', 'io.pressure'].map((file) => pressureOf(read(file)));
  if (cpu === undefined && memory === undefined && io === undefined) return undefined;
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(io && { io }) };
}
