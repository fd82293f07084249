import {
  type ExclusiveSettings,
  type ExclusiveSetup,
  admitted,
  describedMachine,
  emptyLedger,
  exclusiveSetup,
  machineDescription,
} from '@kubus/exclusive';
import { Command } from 'commander';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchNode } from './bench-node.ts';
import { count } from './count-option.ts';
import { agentProcesses, cpuOf, difference, total } from './process-usage.ts';

/**
 * The cost of exclusive CPUs and memory: how long a request is decided on a machine with 256 CPUs while it fills up, and what a pod that
 * requests nothing for itself pays, in turns on a node whose managers are static and on one without.
 * Started as `pnpm --filter @kubus/bench exclusive-cost [--decisions N] [--pods N] [--runs N] [--no-nodes]`; nodes need root, and nothing else running.
 */
interface Options {
  readonly decisions: number;
  readonly pods: number;
  readonly runs: number;
  readonly nodes: boolean;
}

/** A request is to be decided in so many milliseconds. */
const GOAL_MS = 5;
const MACHINE = '../../packages/decisions/exclusive/test/data/machines/256-cpus.json';
const MEMORY = 100 * 2 ** 20;

const { decisions, pods, runs, nodes } = new Command('exclusive-cost')
  .option('--decisions <n>', 'times that the machine is filled under each policy', count, 20)
  .option('--pods <n>', 'pods of a series', count, 10)
  .option('--runs <n>', 'series on each node', count, 5)
  .option('--no-nodes', 'only time decisions')
  .parse()
  .opts<Options>();

for (const policy of ['none', 'best-effort', 'restricted', 'single-numa-node']) {
  const times = decide(await setupOf(policy));
  const [median, high, most] = [quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)].map((ms) =>
    ms.toFixed(2),
  );
  const verdict = quantile(times, 1) <= GOAL_MS ? 'met' : 'not met';
  console.log(
    `${policy}: ${times.length} decisions on 256 CPUs, p50 ${median} ms, p99 ${high} ms, most ${most} ms; goal ${GOAL_MS} ms: ${verdict}`,
  );
}
if (nodes) await compareNodes();

async function setupOf(topologyManagerPolicy: string): Promise<ExclusiveSetup> {
  const text = await readFile(new URL(MACHINE, import.meta.url), 'utf8');
  const machine = describedMachine(machineDescription.parse(JSON.parse(text)));
  if ('problem' in machine) throw new Error(machine.problem);
  const limits = { memory: MEMORY };
  const settings: ExclusiveSettings = {
    ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: {}, gates: { alpha: true, beta: true } },
    ...{ memoryManagerPolicy: 'Static', topologyManagerPolicy, topologyManagerScope: 'container' },
    topologyOptions: { preferClosest: true, mostNodes: 8 },
    ...{ reservedSystemCPUs: '0', reservedMilliCpus: 1000, reservedBytes: limits },
    reservedMemory: [{ numaNode: 0, limits }],
  };
  const setup = exclusiveSetup(machine, settings);
  if ('problem' in setup) throw new Error(setup.problem);
  return setup;
}

/** Fills the machine again and again with pods of two containers; the time of each decision, in milliseconds. The first filling warms up. */
function decide(setup: ExclusiveSetup): number[] {
  const times: number[] = [];
  for (let filling = 0; filling <= decisions; filling += 1) {
    let ledger = emptyLedger(setup);
    for (let pod = 0; pod < 64; pod += 1) {
      const containers = ['main', 'side'].map((name, index) => ({
        ...{ name, kind: 'app' as const, cpus: 1 + ((pod + index) % 5), memory: { memory: 2 ** 30 } },
      }));
      const begin = performance.now();
      const admission = admitted(setup, ledger, { uid: `pod-${pod}`, containers });
      if (filling > 0) times.push(performance.now() - begin);
      ({ ledger } = admission);
    }
  }
  return times;
}

async function compareNodes(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kubus-exclusive-cost-'));
  const config = join(folder, 'kubelet.yaml');
  const lines = ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration', 'cpuManagerPolicy: static'];
  await writeFile(config, [...lines, "reservedSystemCPUs: '0'", ''].join('\n'));
  const [managed, plain] = [await BenchNode.start('--config', config), await BenchNode.start()];
  try {
    const figures = { managed: { times: new Array<number>(), cpu: 0 }, plain: { times: new Array<number>(), cpu: 0 } };
    await series(managed, 'warm-m', 1);
    await series(plain, 'warm-p', 1);
    for (let run = 0; run < runs; run += 1) {
      for (const [name, node] of [['managed', managed] as const, ['plain', plain] as const]) {
        const processes = await agentProcesses(node.dir);
        const before = await cpuOf(processes);
        figures[name].times.push(...(await series(node, `${name}-${run}`, pods)));
        figures[name].cpu += total(difference(await cpuOf(processes), before));
      }
    }
    for (const [name, { times, cpu }] of Object.entries(figures)) {
      const [median, high] = [quantile(times, 0.5), quantile(times, 0.95)];
      const each = (cpu / times.length).toFixed(1);
      console.log(
        `${name}: create to Ready p50 ${median.toFixed(0)} ms, p95 ${high.toFixed(0)} ms, CPU of the agent ${each} ms a pod`,
      );
    }
  } finally {
    await managed.stop();
    await plain.stop();
    await rm(folder, { recursive: true });
  }
}

async function series(node: BenchNode, name: string, length: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < length; index += 1) {
    times.push(await node.create(`${name}-${index}`));
    await node.remove(`${name}-${index}`);
  }
  return times;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
