import { hasErrno } from '@kubus/ports';
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The environment variable that marks plugins and what they start. */
export const OWNER_VARIABLE = 'KUBUS_OWNER';

/** A process; its PID alone may be reused later. */
interface Stray {
  readonly pid: number;
  /** Start time in clock ticks since boot, field 22 of /proc/<pid>/stat: together with the PID it identifies one process. */
  readonly startTime: string;
  readonly leadsGroup: boolean;
}

/** Milliseconds between two checks whether killed processes have ended. */
const POLL_MS = 5;

/**
 * Ends every process whose environment carries `KUBUS_OWNER=<mark>` or `KUBUS_OWNER=<mark>/...`, with SIGKILL, and
 * resolves with their number when they have ended. Repeats until there is none, since one may have started another meanwhile.
 */
export async function endStrays(mark: string): Promise<number> {
  let ended = 0;
  for (let found = await findStrays(mark); found.length > 0; found = await findStrays(mark)) {
    await Promise.all(found.map(end));
    ended += found.length;
  }
  return ended;
}

async function findStrays(mark: string): Promise<Stray[]> {
  const names = await readdir('/proc');
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const strays = await Promise.all(pids.map((pid) => asStray(pid, mark)));
  return strays.filter((stray) => stray !== undefined);
}

async function asStray(pid: number, mark: string): Promise<Stray | undefined> {
  const before = await readStat(pid);
  const environment = before === undefined ? undefined : await readOrGone(`/proc/${pid}/environ`);
  if (before === undefined || environment === undefined) {
    return undefined;
  }
  const marked = environment
    .split('\0')
    .some((entry) => entry === `${OWNER_VARIABLE}=${mark}` || entry.startsWith(`${OWNER_VARIABLE}=${mark}/`));
  const { startTime, group } = before;
  return marked && pid !== process.pid ? { pid, startTime, leadsGroup: group === pid } : undefined;
}

async function end(stray: Stray): Promise<void> {
  if (!(await isRunning(stray))) {
    return;
  }
  try {
    // The group too: a child may have dropped the mark from its environment.
    process.kill(stray.leadsGroup ? -stray.pid : stray.pid, 'SIGKILL');
  } catch (error) {
    if (!hasErrno(error, 'ESRCH')) throw error;
  }
  while (await isRunning(stray)) {
    await delay(POLL_MS);
  }
}

/** Whether it is still executing: after its last thread has ended it only waits to be reaped. */
async function isRunning({ pid, startTime }: Stray): Promise<boolean> {
  const stat = await readStat(pid);
  return stat !== undefined && stat.startTime === startTime && !(stat.isZombie && stat.threads <= 1);
}

interface ProcessStat {
  readonly isZombie: boolean;
  readonly group: number;
  readonly threads: number;
  readonly startTime: string;
}

/** Fields 3, 5, 20 and 22 of /proc/<pid>/stat (proc(5)), or undefined when the process has ended. */
async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readOrGone(`/proc/${pid}/stat`);
  if (text === undefined) {
    return undefined;
  }
  // The command in field 2 may contain anything, so the fields are counted from its closing parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => fields[number - 3] ?? '';
  return {
    isZombie: field(3) === 'Z' || field(3) === 'X',
    group: Number(field(5)),
    threads: Number(field(20)),
    startTime: field(22),
  };
}

/** A file of /proc, or undefined when its process has ended (which may also happen while it is read). */
async function readOrGone(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return undefined;
    throw error;
  }
}
