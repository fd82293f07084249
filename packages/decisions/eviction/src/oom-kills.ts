/** A process that the kernel has killed because memory was short (behaviour:eviction, OOM watcher). */
export interface OomKill {
  /** The control group whose limit was reached; `/`: the whole machine is short. */
  readonly limited: string;
  readonly process: string;
  readonly pid: number;
}

/** What is known of a kill of which the kernel has not named the victim yet; undefined: none is under way. */
export type OomUnderWay = Pick<OomKill, 'limited'> | undefined;

export interface OomStep {
  readonly underWay: OomUnderWay;
  /** Complete with this line. */
  readonly kill?: OomKill | undefined;
}

/** Everything that is longer is not the kernel's: names have 15 characters, and paths of control groups 4096. */
const LONGEST = 8192;

const MACHINE = '/';

/** A line for each kill, from Linux 5.0 on. The name of the task is whatever it has called itself. */
const SUMMARY = /^oom-kill:[^ ]*?,oom_memcg=([^,]*),task_memcg=[^,]*,task=(.*),pid=(\d+),uid=\d+$/;
/** The same before. */
const LEGACY = /^Task in .* killed as a result of limit of (.*)$/;
const KILLED = /Killed process (\d+) \((.+)\)/;

/** What the next line of the kernel's log says about a kill. */
export function stepOom(underWay: OomUnderWay, line: string): OomStep {
  if (line.length > LONGEST) return { underWay };
  if (line.includes('invoked oom-killer:')) return { underWay: { limited: MACHINE } };
  if (underWay === undefined) return { underWay };
  const [, limited, process = '', pid] = SUMMARY.exec(line) ?? [];
  if (limited !== undefined) return { underWay: undefined, kill: { limited, process, pid: Number(pid) } };
  const [, legacy] = LEGACY.exec(line) ?? [];
  if (legacy !== undefined) return { underWay: { limited: legacy } };
  const [, killedPid, killed = ''] = KILLED.exec(line) ?? [];
  if (killedPid === undefined) return { underWay };
  return { underWay: undefined, kill: { ...underWay, process: killed, pid: Number(killedPid) } };
}

/** The message of the event `SystemOOM`; undefined when a limit was reached that is not the machine's. */
export function systemOomMessage({ limited, process, pid }: OomKill): string | undefined {
  if (limited !== MACHINE) return undefined;
  const victim = process === '' || pid === 0 ? '' : `, victim process: ${process}, pid: ${pid}`;
  return `System OOM encountered${victim}`;
}

/** A record of the kernel's log, as /dev/kmsg has it. */
export interface KernelRecord {
  /** Milliseconds since the boot. */
  readonly atMs: number;
  readonly text: string;
}

/** Reads a record `<priority>,<number>,<microseconds>,<flags>;<text>`. Undefined for what a program has written there. */
export function kernelRecord(record: string): KernelRecord | undefined {
  const [, priority, micros, text = ''] = /^(\d{1,10}),\d+,(\d{1,20}),[^;\n]*;([^\n]*)/.exec(record) ?? [];
  // The facility is in the upper bits, and only the kernel's own is 0.
  if (priority === undefined || Number(priority) >= 8) return undefined;
  return { atMs: Number(micros) / 1000, text };
}
