import { Command } from 'commander';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BenchNode } from './bench-node.ts';
import { count } from './count-option.ts';
import { type PerProcess, agentProcesses, cpuOf, difference, memoryOf, total } from './process-usage.ts';
import { formatTable } from './report.ts';
import { allAtOnce, podNames } from './subject.ts';

/**
 * What a pod costs on a node with few pods and on one with many. Started as `pnpm --filter @kubus/bench pods [--placement hosted] [50 500]`, as root, with
 * nothing else running.
 */
const command = new Command('pods')
  .argument('[counts...]', 'pods at once')
  .option('--placement <separate|hosted|file>', 'which services share a process', 'separate')
  .parse();
const counts = command.args.length === 0 ? [50, 500] : command.args.map(count);
const { placement } = command.opts<{ placement: string }>();

/** Wait before memory is measured, in milliseconds, so that the pods' start does not count. */
const SETTLE_MS = 10_000;

const folder = await mkdtemp(join(tmpdir(), 'kubus-bench-'));
const config = join(folder, 'config.yaml');
await writeFile(
  config,
  JSON.stringify({
    ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
    maxPods: Math.max(110, ...counts),
  }),
);
try {
  const rows = [];
  for (const pods of counts) rows.push(await measured(pods));
  console.log(
    formatTable(
      [
        'pods',
        'last Ready',
        'Ready, a pod',
        'CPU, a pod',
        'last removed',
        'CPU of the end, a pod',
        'PSS',
        'PSS, a pod',
      ],
      rows,
    ),
  );
} finally {
  await rm(folder, { recursive: true });
}

/** A node of its own, so that each begins empty. */
async function measured(pods: number): Promise<string[]> {
  const node = await BenchNode.start('--config', config, '--placement', placement);
  try {
    const usage = async () => {
      const processes = await agentProcesses(node.dir);
      return { cpu: await cpuOf(processes), memory: await memoryOf(processes) };
    };
    const spent = (later: { cpu: PerProcess }, earlier: { cpu: PerProcess }) =>
      total(difference(later.cpu, earlier.cpu)) / pods;
    const names = podNames('p', pods);
    const empty = await usage();
    const created = await allAtOnce(names, (name) => node.create(name));
    const ready = await usage();
    await wait(SETTLE_MS);
    const full = await usage();
    const removed = await allAtOnce(names, (name) => node.remove(name));
    const end = await usage();
    const memory = total(full.memory);
    return [
      String(pods),
      `${(created / 1_000).toFixed(1)} s`,
      `${(created / pods).toFixed(0)} ms`,
      `${spent(ready, empty).toFixed(0)} ms`,
      `${(removed / 1_000).toFixed(1)} s`,
      `${spent(end, full).toFixed(0)} ms`,
      `${memory.toFixed(0)} MiB`,
      `${((memory - total(empty.memory)) / pods).toFixed(2)} MiB`,
    ];
  } finally {
    await node.stop();
  }
}
