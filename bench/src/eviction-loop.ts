import { Command } from 'commander';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BenchNode } from './bench-node.ts';
import { ClusterPods } from './cluster-pods.ts';
import { count } from './count-option.ts';
import { agentProcesses, cpuOf, difference, total } from './process-usage.ts';
import { startKubelet } from './reference/agents.ts';
import { ControlPlane } from './reference/control-plane.ts';
import { cpuBelow } from './reference/go-profile.ts';
import { type Subject, allAtOnce, podNames } from './subject.ts';

/**
 * What it costs to watch thresholds and limits of local storage, with many idle pods, in percent of a core: the CPU of node-agent on a node
 * that does, less that on a node that does not. Of the reference kubelet it is the CPU below the loop of its eviction manager, as its own
 * profile has it, without garbage collection.
 * Started as `pnpm --filter @kubus/bench eviction-loop [--pods N] [--seconds N] [--kubelet PATH --apiserver PATH --etcd PATH]`; needs root,
 * and nothing else running.
 */
interface Options {
  readonly pods: number;
  readonly seconds: number;
  readonly kubelet?: string;
  readonly apiserver?: string;
  readonly etcd?: string;
}

const GOAL_PERCENT = 0.2;
/** So that the pods' start does not count, in milliseconds. */
const SETTLE_MS = 20_000;
const LOOP = 'eviction.(*managerImpl).synchronize';

const { pods, seconds, kubelet, apiserver, etcd } = new Command('eviction-loop')
  .option('--pods <n>', 'idle pods', count, 100)
  .option('--seconds <n>', 'how long each node is observed', count, 300)
  .option('--kubelet <path>', 'measure this kubelet, too; needs --apiserver and --etcd')
  .option('--apiserver <path>', 'the kube-apiserver of that kubelet')
  .option('--etcd <path>', 'its etcd')
  .parse()
  .opts<Options>();
const percent = (cpuMs: number, ofMs: number) => `${((cpuMs / ofMs) * 100).toFixed(3)} %`;

const watching = await measureNode([
  'evictionHard: {memory.available: 100Mi, nodefs.available: "1%", nodefs.inodesFree: "1%", imagefs.available: "1%", pid.available: "1%"}',
]);
const not = await measureNode(['localStorageCapacityIsolation: false']);
const loopMs = watching.nodeAgent - not.nodeAgent;
const verdict = loopMs / (seconds * 1000) < GOAL_PERCENT / 100 ? 'met' : 'not met';
console.log(`${pods} idle pods, ${seconds} s, of a core:`);
console.log(
  `Kubus, node-agent that watches: ${percent(watching.nodeAgent, seconds * 1000)}; that does not: ${percent(not.nodeAgent, seconds * 1000)}`,
);
console.log(
  `Kubus, all processes: ${percent(watching.all, seconds * 1000)}; without: ${percent(not.all, seconds * 1000)}`,
);
console.log(`Kubus, the loop: ${percent(loopMs, seconds * 1000)}; goal ${GOAL_PERCENT} %: ${verdict}`);
if (kubelet !== undefined && apiserver !== undefined && etcd !== undefined)
  await measureKubelet({ kubelet, apiserver, etcd });

/** CPU in milliseconds on a private node with this configuration. */
async function measureNode(fields: readonly string[]): Promise<{ readonly nodeAgent: number; readonly all: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'kubus-eviction-loop-'));
  const config = join(folder, 'kubelet.yaml');
  const head = ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration'];
  await writeFile(config, [...head, ...fields, ''].join('\n'));
  try {
    const node = await BenchNode.start('--config', config);
    try {
      return await withPods(node, async () => {
        const processes = await agentProcesses(node.dir);
        const before = await cpuOf(processes);
        await wait(seconds * 1000);
        const used = difference(await cpuOf(processes), before);
        return { nodeAgent: used['node-agent'] ?? Number.NaN, all: total(used) };
      });
    } finally {
      await node.stop();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measureKubelet(programs: { kubelet: string; apiserver: string; etcd: string }): Promise<void> {
  const plane = await ControlPlane.start(programs);
  try {
    const agent = await startKubelet(plane, programs.kubelet);
    const cluster = await ClusterPods.of(plane.api, agent.node);
    try {
      await withPods(cluster.plain, async () => {
        const processes = await agent.processes();
        const before = await cpuOf(processes);
        const profile = await agent.profile(seconds);
        const all = total(difference(await cpuOf(processes), before));
        console.log(`kubelet, all of it: ${percent(all, profile.durationMs)}`);
        console.log(`kubelet, the loop: ${percent(cpuBelow(profile, LOOP), profile.durationMs)}`);
      });
    } finally {
      cluster.close();
      await agent.stop();
    }
  } finally {
    await plane.stop();
  }
}

async function withPods<T>(subject: Subject, act: () => Promise<T>): Promise<T> {
  const names = podNames('idle', pods);
  await allAtOnce(names, (name) => subject.create(name));
  await wait(SETTLE_MS);
  const result = await act();
  await allAtOnce(names, (name) => subject.remove(name));
  return result;
}
