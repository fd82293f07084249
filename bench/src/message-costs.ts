import { measuringMessages, nodeServices } from '@kubus/service-kit';
import { BenchNode } from './bench-node.ts';
import { type PerProcess, agentProcesses, cpuOf, difference, scaled, total } from './process-usage.ts';
import { formatTable } from './report.ts';
import { allAtOnce, podNames } from './subject.ts';

/** A kind of message in one service, for each pod. */
interface KindCost {
  readonly service: string;
  /** Without its version, such as `sync.fact.pod`. */
  readonly type: string;
  readonly way: string;
  readonly count: number;
  /** CPU, in milliseconds. */
  readonly cpu: number;
}

/** What the messages of a node cost for each pod that was started and ended. */
export interface MessageCosts {
  readonly placement: string;
  readonly kinds: readonly KindCost[];
  /** CPU of each process for each pod, in milliseconds. */
  readonly cpu: PerProcess;
}

/** Starts and ends pods, all at once, on a node whose services measure what messages cost: that is a part of what is measured. */
export async function measureMessages(placement: string, pods: number): Promise<MessageCosts> {
  // Nodes that are started later do not measure.
  process.env[measuringMessages] = '1';
  const node = await BenchNode.start('--placement', placement).finally(() => (process.env[measuringMessages] = '0'));
  try {
    const [warm = ''] = podNames('warm', 1);
    await node.create(warm);
    await node.remove(warm);
    const processes = await agentProcesses(node.dir);
    const [cpuBefore, before] = [await cpuOf(processes), await kindsOf(node)];
    const names = podNames('kind', pods);
    await allAtOnce(names, (name) => node.create(name));
    await allAtOnce(names, (name) => node.remove(name));
    const cpu = scaled(difference(await cpuOf(processes), cpuBefore), 1 / pods);
    const after = await kindsOf(node);
    const kinds = [...after].map(([key, kind]) => ({
      ...kind,
      count: (kind.count - (before.get(key)?.count ?? 0)) / pods,
      cpu: (kind.cpu - (before.get(key)?.cpu ?? 0)) / pods,
    }));
    return { placement, cpu, kinds: kinds.filter(({ count }) => count > 0) };
  } finally {
    await node.stop();
  }
}

async function kindsOf(node: BenchNode): Promise<Map<string, KindCost>> {
  const kinds = new Map<string, KindCost>();
  for (const service of nodeServices) {
    const counts = new Map<string, number>();
    for (const [, name = '', labels = '', value] of (await node.metrics(service)).matchAll(sample)) {
      const [type, way] = [labelOf(labels, 'type'), labelOf(labels, 'way')];
      const key = `${service} ${type} ${way}`;
      if (name === 'total') counts.set(key, Number(value));
      else kinds.set(key, { service, type, way, count: counts.get(key) ?? 0, cpu: Number(value) * 1_000 });
    }
  }
  return kinds;
}

/** The count of a kind comes before its CPU. */
const sample = /^kubus_messages_(total|cpu_seconds_total)\{(.*)\} (\S+)$/gm;

function labelOf(labels: string, name: string): string {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
}

/** The kinds of messages and the services of a node as tables of Markdown, the dearest first. */
export function formatMessages({ placement, kinds, cpu }: MessageCosts): string {
  const byKind = sums(kinds, ({ type, way }) => `${type} ${way}`);
  const rows = byKind.map(([kind, { count, cpu: spent }]) => {
    const [type = '', way = ''] = kind.split(' ');
    return [type, way, count.toFixed(1), ((spent / count) * 1_000).toFixed(0), spent.toFixed(2)];
  });
  const ways = ['received', 'sent', 'copied'];
  const services = sums(kinds, ({ service }) => service).map(([service, { count, cpu: spent }]) => {
    const own = kinds.filter((kind) => kind.service === service);
    const of = (way: string) => own.filter((kind) => kind.way === way).reduce((sum, one) => sum + one.cpu, 0);
    return [service, count.toFixed(1), ...ways.map((way) => of(way).toFixed(2)), spent.toFixed(2)];
  });
  const all = kinds.reduce((sum, one) => sum + one.cpu, 0);
  return [
    `Messages of a pod's start and end, ${placement}: ${all.toFixed(1)} of the ${total(cpu).toFixed(1)} ms CPU of all processes`,
    '',
    formatTable(['message', '', 'a pod', 'µs each', 'ms a pod'], rows),
    '',
    formatTable(['service', 'messages a pod', ...ways.map((way) => `${way}, ms`), 'together, ms'], services),
  ].join('\n');
}

function sums(kinds: readonly KindCost[], key: (kind: KindCost) => string): [string, { count: number; cpu: number }][] {
  const all = new Map<string, { count: number; cpu: number }>();
  for (const kind of kinds) {
    const sum = all.get(key(kind)) ?? { count: 0, cpu: 0 };
    all.set(key(kind), { count: sum.count + kind.count, cpu: sum.cpu + kind.cpu });
  }
  return [...all].sort(([, a], [, b]) => b.cpu - a.cpu);
}
