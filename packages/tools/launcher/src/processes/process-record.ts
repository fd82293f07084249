import { setTimeout as wait } from 'node:timers/promises';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

/**
 * Marks every process of a node: its value is the node's root folder. Children inherit it, so runtime shims and CNI
 * plugins carry it as well; containers do not, because the runtime gives them an environment of their own.
 */
export const nodeMark = 'KUBUS_NODE_DIR';

const processRecord = z.object({
  /** Its name: a service instance, `nats-server`, `containerd`. For a process without a record, its command's name. */
  what: z.string(),
  pid: z.number().int().positive(),
  /** Clock ticks since boot (field 22 of /proc/<pid>/stat): with it the pid means this process and no later one. */
  startTime: z.number().int().nonnegative(),
  /** /proc/sys/kernel/random/boot_id: pids and ticks of another boot mean nothing. */
  bootId: z.string(),
});

/** Identifies a process independently of the process that started it. */
export type ProcessRecord = z.infer<typeof processRecord>;

/** How often a process that is not our child is checked, in milliseconds: the kernel reports its end only to its parent. */
const pollMs = 5;
/** How long the kernel may take to end a process after SIGKILL before it counts as stuck, in milliseconds. */
const killMs = 10_000;

/** The record of a running process; undefined when there is none of that pid. */
export async function recordOf(pid: number, what: string): Promise<ProcessRecord | undefined> {
  const process = await readStat(pid);
  return process && { what, pid, startTime: process.startTime, bootId: await bootId() };
}

/** Writes the record to the folder `processes`, replacing that of an earlier process of the same name. */
export async function writeRecord(processes: string, record: ProcessRecord): Promise<void> {
  const file = recordFile(processes, record.what);
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Removes the record, unless it is already that of a later process. */
export async function removeRecord(processes: string, record: ProcessRecord): Promise<void> {
  const present = await readRecord(recordFile(processes, record.what));
  if (present?.pid === record.pid && present.startTime === record.startTime) {
    await rm(recordFile(processes, record.what), { force: true });
  }
}

/** The records in the folder whose processes still run. */
export async function readRecords(processes: string): Promise<ProcessRecord[]> {
  const names = (await readdir(processes).catch(() => [])).filter((name) => name.endsWith('.json'));
  const records = await Promise.all(names.map((name) => readRecord(join(processes, name))));
  const running = await Promise.all(records.map(async (record) => record && (await isRunning(record)) && record));
  return running.filter((record) => record !== undefined && record !== false);
}

function recordFile(processes: string, what: string): string {
  return join(processes, `${what}.json`);
}

/** Undefined for a record that is missing or was cut off by a crash: the process is then found by its mark. */
async function readRecord(file: string): Promise<ProcessRecord | undefined> {
  try {
    return processRecord.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** True while that very process is running; a zombie is not. */
export async function isRunning(record: ProcessRecord): Promise<boolean> {
  const process = await readStat(record.pid);
  return process?.startTime === record.startTime && record.bootId === (await bootId());
}

/**
 * Every running process of the node whose root folder is `root`, found by its mark, so also after the launcher was killed. Names come from
 * the records in `processes`. The calling process is left out.
 */
export async function findProcesses(root: string, processes: string): Promise<ProcessRecord[]> {
  const [entries, records] = await Promise.all([readdir('/proc'), readRecords(processes)]);
  const pids = entries.map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (!environment.split('\0').includes(`${nodeMark}=${root}`)) {
        return undefined;
      }
      const name = (await readStat(pid))?.name ?? '';
      return records.find((record) => record.pid === pid) ?? recordOf(pid, name);
    }),
  );
  return found.filter((record) => record !== undefined);
}

/** The command line of a process; empty when it has ended. */
export async function argumentsOf(pid: number): Promise<string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0').slice(0, -1);
}

/**
 * Ends the processes: SIGTERM, and SIGKILL to those still running `graceMs` milliseconds later. Each is checked again before each
 * signal, so that a pid that now belongs to another process is left alone.
 *
 * @returns those that could not be ended (stuck in the kernel), normally none.
 */
export async function endProcesses(records: readonly ProcessRecord[], graceMs: number): Promise<ProcessRecord[]> {
  const stubborn = await signalAndWait(records, 'SIGTERM', graceMs);
  return signalAndWait(stubborn, 'SIGKILL', killMs);
}

async function signalAndWait(
  records: readonly ProcessRecord[],
  signal: NodeJS.Signals,
  waitMs: number,
): Promise<ProcessRecord[]> {
  let running = await stillRunning(records);
  for (const { pid } of running) {
    try {
      process.kill(pid, signal);
      // A paused process handles SIGTERM only after SIGCONT.
      process.kill(pid, 'SIGCONT');
    } catch {
      // It has already ended.
    }
  }
  const end = performance.now() + waitMs;
  while (running.length > 0 && performance.now() < end) {
    await wait(pollMs);
    running = await stillRunning(running);
  }
  return running;
}

async function stillRunning(records: readonly ProcessRecord[]): Promise<ProcessRecord[]> {
  const running = await Promise.all(records.map(isRunning));
  return records.filter((_, at) => running[at]);
}

/** Fields 2 and 22 of /proc/<pid>/stat; undefined when the process does not exist or is a zombie. */
async function readStat(pid: number): Promise<{ name: string; startTime: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat === undefined ? undefined : parseStat(stat);
}

/** Parses /proc/<pid>/stat. The name in parentheses may contain blanks and parentheses, so the other fields count from the last one. */
export function parseStat(stat: string): { name: string; startTime: number } | undefined {
  const close = stat.lastIndexOf(')');
  const [state = '', ...rest] = stat.slice(close + 2).split(' ');
  const startTime = Number(rest[18]);
  const ended = state === 'Z' || state === 'X';
  return ended || !Number.isInteger(startTime)
    ? undefined
    : { name: stat.slice(stat.indexOf('(') + 1, close), startTime };
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
