import { type RuntimePod, runtimePod } from '@kubus/contracts';
import type { FactReader } from '@kubus/bus';
import type { RunPod, Workload } from '@kubus/experiment';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeLink } from '../node/node-link.ts';
import { type PodView, Pods, matchesName } from '../pods/pods.ts';

/** How long the removal of the pods may take once no fault is active, in milliseconds. */
const REMOVAL_MS = 120_000;

/** The pods of an experiment: created by writing manifests, followed through the node's facts. */
export class WorkloadPods {
  readonly #link: NodeLink;
  readonly #folder: string;
  readonly #pods: Pods;
  readonly #runtime: FactReader<RuntimePod>;
  readonly #listeners: Set<() => void>;
  readonly #uids = new Map<string, string>();

  static async read(link: NodeLink, folder: string): Promise<WorkloadPods> {
    const listeners = new Set<() => void>();
    const changed = () => {
      for (const listener of [...listeners]) listener();
    };
    const pods = await Pods.read(link, changed);
    const runtime = await link.facts(runtimePod, { changed, removed: changed });
    return new WorkloadPods(link, folder, pods, runtime, listeners);
  }

  private constructor(
    link: NodeLink,
    folder: string,
    pods: Pods,
    runtime: FactReader<RuntimePod>,
    listeners: Set<() => void>,
  ) {
    this.#link = link;
    this.#folder = folder;
    this.#pods = pods;
    this.#runtime = runtime;
    this.#listeners = listeners;
  }

  /** Creates a pod by its manifest, which is renamed into place so that it is never read half written. */
  async create({ name, manifest }: RunPod): Promise<void> {
    const part = join(this.#folder, `.${name}.new`);
    await writeFile(part, JSON.stringify(manifest));
    await rename(part, this.#file(name));
  }

  /** Removes the manifest of a pod. */
  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
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
    if (!(await this.#until(isEmpty, REMOVAL_MS)))
      throw new Error(
        `pods of a run were not removed within ${REMOVAL_MS / 1000} s: see the logs in ${this.#link.dir.logs}`,
      );
  }

  /** The UID that the node gave the pod; undefined when the node never had it. */
  uidOf(name: string): string | undefined {
    return this.#uids.get(name);
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.json`);
  }

  #find(name: string): PodView | undefined {
    return this.#pods.list(undefined).find(({ work }) => matchesName(name, work.ref, this.#link.bus.node));
  }

  #isRemoved(name: string): boolean {
    const uid = this.#uids.get(name);
    return this.#find(name) === undefined && (uid === undefined || this.#runtime.get(uid) === undefined);
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
