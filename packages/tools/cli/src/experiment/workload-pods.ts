import { type NodePressure, type RuntimePod, nodePressure, runtimePod } from '@kubus/contracts';
import type { FactReader } from '@kubus/bus';
import type { RunPod, Workload } from '@kubus/experiment';
import type { NodeLink } from '../node/node-link.ts';
import { type PodView, Pods, matchesName } from '../pods/pods.ts';
import type { PodSource } from './pod-source.ts';

/** How long a node may take to be as before a run once no fault is active, in milliseconds. */
const SETTLED_MS = 120_000;

/** The pods of an experiment: created at their source, followed through the node's facts. */
export class WorkloadPods {
  readonly #link: NodeLink;
  readonly #source: PodSource;
  readonly #pods: Pods;
  readonly #runtime: FactReader<RuntimePod>;
  readonly #pressure: FactReader<NodePressure>;
  readonly #listeners: Set<() => void>;
  readonly #uids = new Map<string, string>();

  static async read(link: NodeLink, source: PodSource): Promise<WorkloadPods> {
    const listeners = new Set<() => void>();
    const changed = () => {
      for (const listener of [...listeners]) listener();
    };
    const pods = await Pods.read(link, changed);
    const runtime = await link.facts(runtimePod, { changed, removed: changed });
    const pressure = await link.facts(nodePressure, { changed });
    return new WorkloadPods(link, source, { pods, runtime, pressure }, listeners);
  }

  private constructor(
    link: NodeLink,
    source: PodSource,
    facts: {
      readonly pods: Pods;
      readonly runtime: FactReader<RuntimePod>;
      readonly pressure: FactReader<NodePressure>;
    },
    listeners: Set<() => void>,
  ) {
    this.#link = link;
    this.#source = source;
    this.#pods = facts.pods;
    this.#runtime = facts.runtime;
    this.#pressure = facts.pressure;
    this.#listeners = listeners;
  }

  create(pod: RunPod): Promise<void> {
    return this.#source.create(pod);
  }

  remove(pod: RunPod): Promise<void> {
    return this.#source.remove(pod);
  }

  /** Waits until the pod is in this state; false when that takes longer than `limitMs` milliseconds. */
  reached(name: string, state: Workload['until'], limitMs: number): Promise<boolean> {
    return this.#until(() => {
      const pod = this.#find(name);
      if (pod !== undefined) this.#uids.set(name, pod.uid);
      return pod !== undefined && isInState(pod, state);
    }, limitMs);
  }

  /** Waits until neither node nor runtime has any of the pods; false when that takes longer than `limitMs` milliseconds. */
  removed(pods: readonly RunPod[], limitMs: number): Promise<boolean> {
    return this.#until(() => pods.every(({ name }) => this.#isRemoved(name)), limitMs);
  }

  /** Waits until the node has no pods at all. Throws when that takes longer than two minutes. */
  async allRemoved(): Promise<void> {
    const isEmpty = () => this.#pods.list(undefined).length === 0 && [...this.#runtime].length === 0;
    await this.#expect(isEmpty, 'pods of a run were not removed');
  }

  /** Waits until the node is short of nothing. Throws when that takes longer than two minutes. */
  async relieved(): Promise<void> {
    const isShort = () => [...this.#pressure].some(({ value }) => value.conditions.length > 0);
    await this.#expect(() => !isShort(), 'the node was still short of memory, disk or process IDs after a run');
  }

  /** The UID that the node gave the pod; undefined when the node never had it. */
  uidOf(name: string): string | undefined {
    return this.#uids.get(name);
  }

  #find(name: string): PodView | undefined {
    return this.#pods.list(undefined).find(({ work }) => matchesName(name, work.ref, this.#link.bus.node));
  }

  #isRemoved(name: string): boolean {
    const uid = this.#uids.get(name);
    return this.#find(name) === undefined && (uid === undefined || this.#runtime.get(uid) === undefined);
  }

  async #expect(look: () => boolean, otherwise: string): Promise<void> {
    if (await this.#until(look, SETTLED_MS)) return;
    throw new Error(`${otherwise} within ${SETTLED_MS / 1000} s: see the logs in ${this.#link.dir.logs}`);
  }

  #until(look: () => boolean, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (outcome: boolean) => {
        clearTimeout(late);
        this.#listeners.delete(listener);
        resolve(outcome);
      };
      const listener = () => {
        if (look()) end(true);
      };
      const late = setTimeout(() => end(false), limitMs);
      this.#listeners.add(listener);
      listener();
    });
  }
}

function isInState({ work, status }: PodView, state: Workload['until']): boolean {
  if (state === 'ended') return status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const containers = status?.containerStatuses ?? [];
  const ready = status?.phase === 'Running' && containers.every((container) => container.ready);
  if (state === 'ready' || !ready) return ready;
  return containers.length === work.pod?.spec.containers.length && containers.every((one) => one.restartCount > 0);
}
