import { formatTable } from '../output/table.ts';
import type { PodTrial, Trial } from './trial.ts';

/** What a container would get, or why not. */
export function trialText(trial: Trial): string {
  const { cpus, cpuNodes, memoryNodes } = trial;
  const given = [
    ['cpus', cpus === '' ? 'none of its own' : `${cpus} on NUMA nodes ${cpuNodes}`],
    ...(memoryNodes === '' ? [] : [['memory', `on NUMA nodes ${memoryNodes}`]]),
  ];
  return rowsText([...(trial.admitted ? given : [refusal(trial)]), ...node(trial)]);
}

const withWhom = { nobody: 'nobody', pod: 'its pod', node: 'the node' };

/** What a pod and each of its containers would get, or why not. */
export function podTrialText(trial: PodTrial): string {
  if (!trial.admitted) return rowsText([refusal(trial), ...node(trial)]);
  const { pod, containers, qosClass } = trial;
  const header = ['CONTAINER', 'CPUS', 'SHARED WITH', 'NUMA NODES', 'MEMORY FROM'];
  const rows = containers.map(({ name, cpus, sharing, cpuNodes, memoryNodes }) => [
    ...[name, orNone(cpus), withWhom[sharing], orNone(cpuNodes)],
    memoryNodes === '' ? 'any' : memoryNodes,
  ]);
  const whole = pod === undefined ? [] : [['pod', wholeText(pod)]];
  const rest = [['qos', qosClass], ...whole, ...node(trial)];
  return `${formatTable(header, rows)}\n\n${rowsText(rest)}`;
}

function wholeText({ cpus, cpuNodes, memoryNodes }: NonNullable<PodTrial['pod']>): string {
  const memory = memoryNodes === '' ? '' : `, memory from ${memoryNodes}`;
  return cpus === '' ? `no CPUs${memory}` : `CPUs ${cpus} on NUMA nodes ${cpuNodes}${memory}`;
}

function refusal({ reason, message }: Trial): readonly string[] {
  return ['refused', `${reason ?? ''}: ${message ?? ''}`];
}

function node({ reserved, shared }: Trial): readonly (readonly string[])[] {
  return [
    ['reserved', reserved],
    ['shared', shared],
  ];
}

function rowsText(rows: readonly (readonly string[])[]): string {
  return rows.map(([name = '', value = '']) => `${name.padEnd(9)} ${value}`).join('\n');
}

function orNone(text: string): string {
  return text === '' ? 'none' : text;
}
