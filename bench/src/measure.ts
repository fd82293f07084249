import type { CriticalPath } from '@kubus/contracts/observatory';
import { setTimeout as wait } from 'node:timers/promises';
import type { Floor } from './floor.ts';
import { pathsOf } from './path.ts';
import { type PerProcess, agentProcesses, cpuOf, difference, memoryOf, scaled } from './process-usage.ts';
import { BenchNode } from './bench-node.ts';
import { type Scrapes, measureScrapes } from './scrapes.ts';
import { type TakeOvers, measureTakeOvers } from './take-over.ts';
import { ClusterBenchNode } from './cluster-bench-node.ts';
import { type OneAtATime, type Subject, allAtOnce, oneAtATime, podNames } from './subject.ts';

/** The same measurement of both subjects, one right after the other. */
export interface Pair<T> {
  readonly floor: T;
  readonly kubus: T;
}

/** Milliseconds until the last pod was Ready, and until the last one was removed. */
export interface AtOnce {
  readonly created: number;
  readonly removed: number;
  /** The agent's CPU for each pod created, in milliseconds. */
  readonly cpu: PerProcess;
}

/** Milliseconds until each service of a full node was ready again after it was killed. */
type Restarts = Readonly<Record<string, number>>;

export interface FullNode extends Pair<AtOnce> {
  readonly pods: number;
  readonly memory: PerProcess;
  /** CPU of each process while nothing happens, in percent of a core. */
  readonly idle: PerProcess;
  /** Calls of the runtime by cri-bridge: for each pod that was created, and while nothing happens per minute. */
  readonly criCalls: { readonly perPod: number; readonly idlePerMinute: number };
  readonly scrapes: Scrapes;
  readonly restarts: Restarts;
  readonly takeOvers: TakeOvers;
}

/** A full node whose services run in one process. */
export interface HostedNode {
  readonly pods: number;
  /** The agent's CPU for each pod created at once with all others, in milliseconds. */
  readonly cpu: PerProcess;
  readonly memory: PerProcess;
}

/** A cluster's node whose pods have volumes. Times in milliseconds. */
export interface WithVolumes {
  readonly single: OneAtATime;
  readonly pods: number;
  readonly atOnce: AtOnce;
}

/** Wait before memory and idle CPU are measured, in milliseconds, so that the pods' start does not count. */
const SETTLE_MS = 10_000;

export class Measurements {
  readonly #floor: Floor;
  readonly #node: BenchNode;
  readonly #say: (text: string) => void;
  #series = 0;

  constructor(floor: Floor, node: BenchNode, say: (text: string) => void) {
    this.#floor = floor;
    this.#node = node;
    this.#say = say;
  }

  /** Pods one after the other. */
  async oneAtATime(count: number): Promise<Pair<OneAtATime> & { cpu: PerProcess }> {
    const names = this.#names(count);
    const floor = await oneAtATime(this.#floor, names);
    const created: number[] = [];
    const cpu = await this.#cpuPerPod(count, async () => {
      for (const name of names) created.push(await this.#node.create(name));
    });
    const removed: number[] = [];
    for (const name of names) removed.push(await this.#node.remove(name));
    return { floor, kubus: { created, removed }, cpu };
  }

  /** Pods all at once. */
  async atOnce(count: number): Promise<Pair<AtOnce>> {
    const names = this.#names(count);
    const floor = await this.#createAtOnce(this.#floor, names);
    const floorRemoved = await this.#removeAtOnce(this.#floor, names);
    const kubus = await this.#createAtOnce(this.#node, names);
    const removed = await this.#removeAtOnce(this.#node, names);
    return { floor: { ...floor, removed: floorRemoved }, kubus: { ...kubus, removed } };
  }

  /** A full node: its idle cost, and how fast a killed service is ready again. */
  async fullNode(pods: number, idleMs: number): Promise<FullNode> {
    const names = this.#names(pods);
    const floor = await this.#createAtOnce(this.#floor, names);
    const floorRemoved = await this.#removeAtOnce(this.#floor, names);
    const atFirst = await this.#node.criCalls();
    const kubus = await this.#createAtOnce(this.#node, names);
    const perPod = ((await this.#node.criCalls()) - atFirst) / pods;
    this.#say(`idle for ${(SETTLE_MS + idleMs) / 1000} s with ${pods} pods`);
    await wait(SETTLE_MS);
    const processes = await agentProcesses(this.#node.dir);
    const memory = await memoryOf(processes);
    const callsBefore = await this.#node.criCalls();
    const before = await cpuOf(processes);
    await wait(idleMs);
    const idle = scaled(difference(await cpuOf(processes), before), 100 / idleMs);
    const idlePerMinute = (((await this.#node.criCalls()) - callsBefore) * 60_000) / idleMs;
    this.#say('scrapes of metrics');
    const scrapes = await measureScrapes(this.#node.dir, processes);
    const restarts: Record<string, number> = {};
    for (const service of [...processes.keys()].filter((name) => name !== 'launcher' && name !== 'nats-server')) {
      restarts[service] = await this.#node.kill(service);
    }
    const takeOvers = await measureTakeOvers(this.#node);
    const removed = await this.#removeAtOnce(this.#node, names);
    return {
      pods,
      floor: { ...floor, removed: floorRemoved },
      kubus: { ...kubus, removed },
      memory,
      idle,
      criCalls: { perPod, idlePerMinute },
      scrapes,
      restarts,
      takeOvers,
    };
  }

  /** The critical paths of pods from the node's record. */
  async paths(count: number): Promise<{ middle: CriticalPath | undefined; busShare: number }> {
    const names = this.#names(count);
    for (const name of names) await this.#node.create(name);
    const paths = await pathsOf(this.#node, names);
    for (const name of names) await this.#node.remove(name);
    return paths;
  }

  #names(count: number): string[] {
    this.#series += 1;
    return podNames(`s${this.#series}`, count);
  }

  async #createAtOnce(subject: Subject, names: readonly string[]): Promise<Omit<AtOnce, 'removed'>> {
    let created = 0;
    const cpu = await this.#cpuPerPod(names.length, async () => {
      created = await allAtOnce(names, (name) => subject.create(name));
    });
    return { created, cpu };
  }

  #removeAtOnce(subject: Subject, names: readonly string[]): Promise<number> {
    return allAtOnce(names, (name) => subject.remove(name));
  }

  async #cpuPerPod(pods: number, work: () => Promise<void>): Promise<PerProcess> {
    return cpuPerPod(this.#node, pods, work);
  }
}

async function cpuPerPod(
  { dir }: Pick<BenchNode, 'dir'>,
  pods: number,
  work: () => Promise<void>,
): Promise<PerProcess> {
  const processes = await agentProcesses(dir);
  const before = await cpuOf(processes);
  await work();
  return scaled(difference(await cpuOf(processes), before), 1 / pods);
}

/** Pods with volumes on a cluster's node: some one at a time, then many at once. */
export async function withVolumes(single: number, pods: number): Promise<WithVolumes> {
  const node = await ClusterBenchNode.start();
  try {
    await oneAtATime(node, podNames('warm', 1));
    const one = await oneAtATime(node, podNames('one', single));
    const names = podNames('many', pods);
    let created = 0;
    const cpu = await cpuPerPod(node, pods, async () => {
      created = await allAtOnce(names, (name) => node.create(name));
    });
    const removed = await allAtOnce(names, (name) => node.remove(name));
    return { single: one, pods, atOnce: { created, removed, cpu } };
  } finally {
    await node.stop();
  }
}

/** Fills a node whose services run in one process. */
export async function hostedNode(pods: number): Promise<HostedNode> {
  const node = await BenchNode.start('--placement', 'hosted');
  try {
    const processes = await agentProcesses(node.dir);
    const before = await cpuOf(processes);
    await allAtOnce(podNames('hosted', pods), (name) => node.create(name));
    const cpu = scaled(difference(await cpuOf(processes), before), 1 / pods);
    await wait(SETTLE_MS);
    return { pods, cpu, memory: await memoryOf(processes) };
  } finally {
    await node.stop();
  }
}
