import { readFile } from 'node:fs/promises';
import type { NodeDir } from './node-dir.ts';
import { readRecords } from './process-record.ts';

/** Length of a clock tick of /proc, in milliseconds: 100 a second on every Linux that Node runs on. */
const TICK_MS = 10;

/** CPU that a process has used since its start, in milliseconds, with that of its threads. */
export interface CpuTimes {
  readonly own: number;
  /** Of its children that have ended, and of theirs. */
  readonly children: number;
}

/** Fields 14 to 17 of /proc/<pid>/stat. Throws when there is no such process. */
export async function readCpuTimes(pid: number): Promise<CpuTimes> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = (first: number) => Number(fields[first]) + Number(fields[first + 1]);
  return { own: ticks(11) * TICK_MS, children: ticks(13) * TICK_MS };
}

/**
 * CPU that the agent of a node has used since its start, in milliseconds: its services, its launcher and its message server,
 * also those that have ended since the launcher's start; not the container runtime and what it starts.
 */
export async function agentCpu(dir: Pick<NodeDir, 'processes'>): Promise<number> {
  const records = (await readRecords(dir.processes)).filter(({ what }) => what !== 'containerd');
  const times = records.map(async ({ what, pid }) => {
    // One that has ended since the records were read is among the launcher's children the next time.
    const { own, children } = await readCpuTimes(pid).catch(() => ({ own: 0, children: 0 }));
    return own + (what === 'launcher' ? children : 0);
  });
  return (await Promise.all(times)).reduce((sum, ms) => sum + ms, 0);
}
