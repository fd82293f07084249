import { readFile, readdir } from 'node:fs/promises';
import { type ProcessRecord, readRecords } from './process-record.ts';

/** A process that cannot open anything: a file, a connection, a program. */
export interface WithoutDescriptors {
  readonly process: string;
  readonly pid: number;
  /** RLIMIT_NOFILE: how many file descriptors it may have. */
  readonly limit: number;
}

/** The recorded processes of a node that have no file descriptor left, as the kernel sees them: they need not answer. */
export async function withoutDescriptors(processes: string): Promise<WithoutDescriptors[]> {
  const found = await Promise.all((await readRecords(processes)).map(look));
  return found.filter((one) => one !== undefined);
}

/** What is wrong with such a process, and what to do: it goes on by itself with a higher limit. */
export function descriptorsText({ pid, limit }: WithoutDescriptors): string {
  return `no file descriptor of ${limit} is left (EMFILE): raise the limit with "prlimit --pid ${pid} --nofile=N", and for the next start LimitNOFILE= of the unit or "ulimit -n"`;
}

/** A descriptor's number is below the limit (getrlimit(2)). A process that has ended meanwhile lacks nothing. */
async function look({ what, pid }: ProcessRecord): Promise<WithoutDescriptors | undefined> {
  try {
    const [limits, open] = await Promise.all([readFile(`/proc/${pid}/limits`, 'utf8'), readdir(`/proc/${pid}/fd`)]);
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
    const isFull = open.filter((descriptor) => Number(descriptor) < limit).length >= limit;
    return isFull ? { process: what, pid, limit } : undefined;
  } catch {
    return undefined;
  }
}
