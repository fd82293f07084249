import { Cluster, type JsonObject, isReady } from '@kubus/kube-fixture';
import { adminKubeconfig } from '@kubus/launcher';
import { Command } from 'commander';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { BenchNode } from './bench-node.ts';
import { benchContainer, benchManifest } from './bench-pod.ts';
import { count } from './count-option.ts';
import { agentProcesses, cpuOf, difference, memoryOf } from './process-usage.ts';
import type { WatchersData } from './watchers.ts';

/**
 * What a node's own Kubernetes API costs: its memory and CPU at rest and with many objects, how long a write takes while others watch, and a pod
 * from its creation to Ready through the API, through a file, and by `kubectl apply`, in turns; a node's start until the first `kubectl run`
 * is Ready. Started as `pnpm --filter @kubus/bench kube-api [--objects N]
 * [--watches N] [--pods N]`, as root.
 */
interface Options {
  readonly objects: number;
  readonly watches: number;
  readonly pods: number;
}

/** Wait before memory is measured, and over which CPU at rest is, in milliseconds. */
const REST_MS = 20_000;
const NAMESPACE = 'default';
const KNOWN = 'kubectl apply, from when the API has the pod';
const run = promisify(execFile);

const { objects, watches, pods } = new Command('kube-api')
  .option('--objects <n>', 'objects of pods', count, 1_000)
  .option('--watches <n>', 'watches of all pods', count, 10)
  .option('--pods <n>', 'pods that are started each way', count, 20)
  .parse()
  .opts<Options>();

const folder = await mkdtemp(join(tmpdir(), 'kubus-bench-'));
const began = performance.now();
const node = await BenchNode.start('--api');
try {
  console.log(`up: ${seconds(performance.now() - began)}`);
  const cluster = Cluster.open(adminKubeconfig(node.dir));
  await cluster.waitFor({ kind: 'Node', name: node.dir.node }, isReady);
  console.log(`node Ready in its API: ${seconds(performance.now() - began)}`);
  await firstRun(cluster);
  console.log(`the API after the last other service: ${seconds(await node.readyAfterOthers('kube-api'))}`);
  await atRest('empty');
  await startPods(cluster);
  await writes(cluster);
  await atRest(`${objects} pods' objects`);
  console.log(`killed until it serves again: ${seconds(await node.kill('kube-api'))}`);
} finally {
  await node.stop();
  await rm(folder, { recursive: true });
}

async function atRest(what: string): Promise<void> {
  await wait(REST_MS);
  const processes = new Map([...(await agentProcesses(node.dir))].filter(([name]) => name === 'kube-api'));
  const before = await cpuOf(processes);
  await wait(REST_MS);
  const { 'kube-api': cpu = NaN } = difference(await cpuOf(processes), before);
  const { 'kube-api': memory = NaN } = await memoryOf(processes);
  console.log(`${what}: ${memory.toFixed(1)} MiB (PSS), ${((100 * cpu) / REST_MS).toFixed(2)} % of a core at rest`);
}

/** What a user does first. */
async function firstRun(cluster: Cluster): Promise<void> {
  const { image, command } = benchContainer;
  const pod = { kind: 'Pod', namespace: NAMESPACE, name: 'first' };
  await kubectl('run', pod.name, '--image', image, '--command', '--', ...command);
  await cluster.waitFor(pod, isReady);
  console.log(`up to the first kubectl run Ready: ${seconds(performance.now() - began)}`);
  await cluster.delete(pod, { gracePeriodSeconds: 0 });
  await cluster.waitGone(pod);
}

async function kubectl(...args: readonly string[]): Promise<void> {
  await run('kubectl', ['--kubeconfig', adminKubeconfig(node.dir), ...args]);
}

/** In turns, so that all ways meet the same machine. */
async function startPods(cluster: Cluster): Promise<void> {
  const times: Record<string, number[]> = { api: [], file: [], 'kubectl apply': [], [KNOWN]: [] };
  for (let index = 0; index < pods; index++) {
    const name = { kind: 'Pod', namespace: NAMESPACE, name: `api-${index}` };
    const begin = performance.now();
    await cluster.create(JSON.parse(benchManifest(name.name)) as JsonObject);
    await cluster.waitFor(name, isReady);
    times['api']?.push(performance.now() - begin);
    await cluster.delete(name, { gracePeriodSeconds: 0 });
    await cluster.waitGone(name);
    times['file']?.push(await node.create(`file-${index}`));
    await node.remove(`file-${index}`);
    await applied(cluster, `kubectl-${index}`, times);
  }
  for (const [way, all] of Object.entries(times)) console.log(`create to Ready by ${way}: ${spread(all)}`);
}

/** Also from when the API has the pod, which leaves out the start of kubectl itself. */
async function applied(cluster: Cluster, name: string, times: Readonly<Record<string, number[]>>): Promise<void> {
  const file = join(folder, `${name}.json`);
  await writeFile(file, benchManifest(name));
  const pod = { kind: 'Pod', namespace: NAMESPACE, name };
  const begin = performance.now();
  const exists = cluster.waitFor(pod, () => true).then(() => performance.now());
  await Promise.all([kubectl('apply', '-f', file), cluster.waitFor(pod, isReady)]);
  const end = performance.now();
  times['kubectl apply']?.push(end - begin);
  times[KNOWN]?.push(end - (await exists));
  await cluster.delete(pod, { gracePeriodSeconds: 0 });
  await cluster.waitGone(pod);
}

/** Pods of a node that does not exist, and their statuses, one after the other, while a thread of its own watches them. */
async function writes(cluster: Cluster): Promise<void> {
  const workerData: WatchersData = { kubeconfig: adminKubeconfig(node.dir), path: '/api/v1/pods', watches };
  const watchers = new Worker(new URL('watchers.ts', import.meta.url), { workerData });
  await once(watchers, 'message');
  const nameOf = (index: number) => ({ kind: 'Pod', namespace: NAMESPACE, name: `object-${index}` });
  const created: number[] = [];
  const patched: number[] = [];
  for (let index = 0; index < objects; index++) {
    const { spec } = JSON.parse(benchManifest('object')) as { spec: JsonObject };
    const { name, namespace } = nameOf(index);
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec: { ...spec, nodeName: 'none' } };
    created.push(await timed(() => cluster.create(pod)));
  }
  for (let index = 0; index < objects; index++) {
    const status = { status: { phase: 'Running', message: String(index) } };
    const how = { kind: 'strategic-merge', subresource: 'status' } as const;
    patched.push(await timed(() => cluster.patch(nameOf(index), status, how)));
  }
  console.log(`a pod created, ${watches} watches: ${spread(created)}`);
  console.log(`a status written, ${objects} pods, ${watches} watches: ${spread(patched)}`);
  watchers.postMessage('close');
  const [seen] = (await once(watchers, 'message')) as [number];
  console.log(`${seen} changes seen by watches`);
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await action();
  return performance.now() - begin;
}

function spread(all: readonly number[]): string {
  const sorted = all.toSorted((one, other) => one - other);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN).toFixed(1);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
