import { readFile } from 'node:fs/promises';
import type { NodeDir } from '../node/node-dir.ts';
import { readRecords } from './process-record.ts';

/** Length of a clock tick of /proc, in milliseconds: 100 a second on every Linux that Node.js runs on. */
const TICK_MS = 10;

/** CPU time that a process has used since its start, threads included, in milliseconds. */
export interface CpuTimes {
  readonly own: number;
  /** CPU time of its ended children and their ended children. */
  readonly children: number;
}

/** Reads fields 14 to 17 of /proc/<pid>/stat. Throws when there is no such process. */
export async function readCpuTimes(pid: number): Promise<CpuTimes> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = (first: number) => Number(fields[first]) + Number(fields[first + 1]);
  return { own: ticks(11) * TICK_MS, children: ticks(13) * TICK_MS };
}

/**
 * CPU time that the agent of a node has used since its start, in milliseconds: services, launcher and NATS server, including those
 * that have ended since the launcher's start; without the container runtime and its children.
 */
export async function agentCpu(dir: Pick<NodeDir, 'processes'>): Promise<number> {
  const records = (await readRecords(dir.processes)).filter(({ what }) => what !== 'containerd');
  const times = records.map(async ({ what, pid }) => {
    // A process that has ended since the records were read counts among the launcher's children the next time.
    const { own, children } = await readCpuTimes(pid).catch(() => ({ own: 0, children: 0 }));
    return own + (what === 'launcher' ? children : 0);
  });
  return (await Promise.all(times)).reduce((sum, ms) => sum + ms, 0);
}
