import { type NodeDir, readCpuTimes, readRecords } from '@kubus/launcher';
import { readFile } from 'node:fs/promises';
import { median } from './subject.ts';

/** A figure for each process of the agent by its name, such as `sync-loop`, or `pod-workers-1` for a further instance. */
export type PerProcess = Readonly<Record<string, number>>;

/** The processes of the agent: services, launcher and NATS server, without the container runtime. */
export async function agentProcesses(dir: NodeDir): Promise<Map<string, number>> {
  const records = await readRecords(dir.processes);
  const agent = records.filter(({ what }) => what !== 'containerd');
  return new Map(agent.map(({ what, pid }) => [what.replace(/-0$/, ''), pid]));
}

/**
 * CPU time of each process since its start, threads included, in milliseconds. Children are not counted: CNI plugins and runtime shims are
 * the same under every agent.
 */
export async function cpuOf(processes: ReadonlyMap<string, number>): Promise<PerProcess> {
  return each(processes, async (pid) => (await readCpuTimes(pid)).own);
}

/** CPU time of a process and its ended children, in milliseconds. */
export async function cpuWithChildren(pid: number): Promise<number> {
  const { own, children } = await readCpuTimes(pid);
  return own + children;
}

/**
 * Memory of each process, in MiB: its own pages and its share of those that several use (PSS), or all that it uses (RSS).
 */
export async function memoryOf(
  processes: ReadonlyMap<string, number>,
  what: 'Pss' | 'Rss' = 'Pss',
): Promise<PerProcess> {
  return each(processes, async (pid) => {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]) / 1024;
  });
}

export function difference(later: PerProcess, earlier: PerProcess): PerProcess {
  return Object.fromEntries(Object.entries(later).map(([name, value]) => [name, value - (earlier[name] ?? 0)]));
}

export function scaled(figures: PerProcess, factor: number): PerProcess {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, value * factor]));
}

/** Of each process the median of its figures; a process that a run does not have counts as 0 there. */
export function medians(runs: readonly PerProcess[]): PerProcess {
  const names = new Set(runs.flatMap((run) => Object.keys(run)));
  return Object.fromEntries([...names].map((name) => [name, median(runs.map((run) => run[name] ?? 0))]));
}

export function total(figures: PerProcess): number {
  return Object.values(figures).reduce((sum, value) => sum + value, 0);
}

async function each(
  processes: ReadonlyMap<string, number>,
  read: (pid: number) => Promise<number>,
): Promise<PerProcess> {
  const entries = [...processes].map(async ([name, pid]) => [name, await read(pid)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
