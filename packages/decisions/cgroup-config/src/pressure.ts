/** Pressure stall information, as the kernel reports it (Documentation/accounting/psi.rst). */
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

/** Missing where the kernel does not report it. */
export interface Pressures {
  readonly cpu?: Pressure;
  readonly memory?: Pressure;
  readonly io?: Pressure;
}

/** Character code of the space; the codes of line ends are below it. */
const BLANK = 0x20;

const none: PressureOf = { avg10: 0, avg60: 0, avg300: 0, total: 0 };

/** A `*.pressure` file. The line `full` is missing for the machine's CPUs on older kernels. */
function pressureOf(text: string | undefined): Pressure | undefined {
  if (text === undefined) return undefined;
  const some = lineOf(text, 'some');
  return some && { some, full: lineOf(text, 'full') ?? none };
}

/** The four values of a line are in this order. Parsed by hand for speed: each cgroup has six such lines. */
function lineOf(text: string, kind: string): PressureOf | undefined {
  const begin = text.indexOf(`${kind} avg10=`);
  if (begin === -1) return undefined;
  const avg10 = valueAfter(text, 'avg10=', begin);
  const avg60 = valueAfter(text, 'avg60=', begin);
  const avg300 = valueAfter(text, 'avg300=', begin);
  const total = valueAfter(text, 'total=', begin);
  return Number.isFinite(avg10 + avg60 + avg300 + total) ? { avg10, avg60, avg300, total } : undefined;
}

/** A number that ends at a space, the end of the line, or the end of the text. */
function valueAfter(text: string, name: string, from: number): number {
  const begin = text.indexOf(name, from) + name.length;
  let end = begin;
  while (end < text.length && text.charCodeAt(end) > BLANK) end += 1;
  return Number(text.slice(begin, end));
}

/**
 * The pressures of a cgroup; undefined where the kernel reports none. `read` returns the text of a file of the cgroup in v2.
 *
 * @param idle the previous pressures, when no process of the cgroup has run since: processes can then only wait for disks,
 *   and averages that have reached zero stay zero
 * @param isStill whether no process has waited since then, not even for disks
 */
export function pressuresOf(
  read: (file: string) => string | undefined,
  idle?: Pressures,
  isStill = false,
): Pressures | undefined {
  const cpu = calm(idle?.cpu) ?? pressureOf(read('cpu.pressure'));
  const memory = calm(idle?.memory) ?? pressureOf(read('memory.pressure'));
  const io = (isStill ? calm(idle?.io) : undefined) ?? pressureOf(read('io.pressure'));
  if (cpu === undefined && memory === undefined && io === undefined) return undefined;
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(io && { io }) };
}

/** Whether no process has waited between the two readings. */
export function haveSameTotals(a: Pressures | undefined, b: Pressures | undefined): boolean {
  const isSame = (one: Pressure | undefined, other: Pressure | undefined) =>
    one === other || (one?.some.total === other?.some.total && one?.full.total === other?.full.total);
  return a === b || (isSame(a?.cpu, b?.cpu) && isSame(a?.memory, b?.memory) && isSame(a?.io, b?.io));
}

function calm(pressure: Pressure | undefined): Pressure | undefined {
  if (pressure === undefined) return undefined;
  const { some, full } = pressure;
  return some.avg10 + some.avg60 + some.avg300 + full.avg10 + full.avg60 + full.avg300 === 0 ? pressure : undefined;
}
