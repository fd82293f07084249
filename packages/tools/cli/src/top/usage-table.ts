import { formatTable } from '../output/table.ts';
import type { NodeUsage, PodUsage, Usage } from './summary.ts';

/** What `--sort-by` takes. */
export type SortKey = 'cpu' | 'memory';

const MIB = 1024 * 1024;
const UNKNOWN = '<unknown>';

/** kubectl's table of a node. @param cores number of CPU cores of the machine */
export function nodeTable(node: NodeUsage, cores: number): string {
  const header = ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'];
  const share = [percent(node.nanoCores, cores * 1e9), percent(node.bytes, node.capacityBytes)];
  return formatTable(header, [[node.name, milliCores(node), share[0] ?? '', mebibytes(node), share[1] ?? '']]);
}

/** kubectl's table of pods, sorted by name or by usage, with a row for each container when `containers` is set. */
export function podTable(
  pods: readonly PodUsage[],
  options: {
    readonly namespaces: boolean;
    readonly containers: boolean;
    readonly sortBy?: SortKey | undefined;
  },
): string {
  const header = [
    ...(options.namespaces ? ['NAMESPACE'] : []),
    ...(options.containers ? ['POD'] : []),
    ...['NAME', 'CPU(cores)', 'MEMORY(bytes)'],
  ];
  const order = orderBy(options.sortBy);
  const sorted = [...pods].sort(
    (a, b) => order(a, b) || compare(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`),
  );
  const rows = sorted.flatMap((pod) => {
    const shown = options.containers
      ? [...pod.containers].sort((a, b) => order(a, b) || compare(a.name, b.name))
      : [pod];
    return shown.map((one) => [
      ...(options.namespaces ? [pod.namespace] : []),
      ...(options.containers ? [pod.name] : []),
      ...[one.name, milliCores(one), mebibytes(one)],
    ]);
  });
  return formatTable(header, rows);
}

function orderBy(key: SortKey | undefined): (a: Usage, b: Usage) => number {
  if (key === 'cpu') return (a, b) => (b.nanoCores ?? -1) - (a.nanoCores ?? -1);
  if (key === 'memory') return (a, b) => (b.bytes ?? -1) - (a.bytes ?? -1);
  return () => 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Thousandths of a core, rounded up as kubectl does. */
function milliCores({ nanoCores }: Usage): string {
  return nanoCores === undefined ? UNKNOWN : `${Math.ceil(nanoCores / 1e6)}m`;
}

function mebibytes({ bytes }: Usage): string {
  return bytes === undefined ? UNKNOWN : `${Math.floor(bytes / MIB)}Mi`;
}

function percent(part: number | undefined, whole: number | undefined): string {
  return part === undefined || whole === undefined || whole === 0 ? UNKNOWN : `${Math.floor((part / whole) * 100)}%`;
}
