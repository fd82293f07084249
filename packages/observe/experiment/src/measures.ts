/** Of each run of a workload on a node. */
export const nodeMeasures = ['start', 'restart', 'stop', 'cpu', 'evicted', 'oomKilled'] as const;
type NodeMeasure = (typeof nodeMeasures)[number];

/** Of each run on a described machine. */
export const machineMeasures = ['fragmentation', 'memoryFragmentation', 'used', 'refused', 'split'] as const;
export type MachineMeasure = (typeof machineMeasures)[number];

/** Into so many equal parts is the time of a run on a described machine divided. */
const TIME_PARTS = 10;

/** The fragmentation in each part of the time of a run: `fragmentation1` to `fragmentation10`. */
export const fragmentationOverTime: readonly string[] = Array.from(
  { length: TIME_PARTS },
  (_, part) => `fragmentation${part + 1}`,
);

const titles: Readonly<Record<NodeMeasure | MachineMeasure, string>> = {
  start: 'start of a pod, ms',
  restart: 'restart of a container, ms',
  stop: 'stop of a pod, ms',
  cpu: 'CPU of the agent per pod, ms',
  evicted: 'pods evicted',
  oomKilled: 'containers that the kernel killed for lack of memory',
  fragmentation: 'fragmentation of CPUs, %',
  memoryFragmentation: 'fragmentation of memory, %',
  used: 'CPUs in use, %',
  refused: 'pods refused, %',
  split: 'pods on more NUMA nodes than needed, %',
};

/** What a row of the report is about, with its unit. */
export function measureTitle(measure: string): string {
  const part = fragmentationOverTime.indexOf(measure);
  if (part === -1) return titles[measure as keyof typeof titles];
  const percent = (bound: number) => Math.round((bound * 100) / TIME_PARTS);
  return `fragmentation of CPUs from ${percent(part)} to ${percent(part + 1)} % of the time, %`;
}
