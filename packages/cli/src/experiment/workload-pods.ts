import { type RuntimePod, runtimePod } from '@kubus/contracts';
import type { FactReader } from '@kubus/bus';
import type { RunPod, Workload } from '@kubus/experiment';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeLink } from '../node-link.ts';
import { type PodView, Pods, isMeant } from '../pods.ts';

/** How long pods may take to go when nothing is disturbed any more, in milliseconds. */
const GONE_MS = 120_000;

/** The pods of an experiment on its node: made by their manifests, watched by what the node says of them. */
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

  /** Writes the manifest as a whole: nobody reads half of it. */
  async create({ name, manifest }: RunPod): Promise<void> {
    const part = join(this.#folder, `.${name}.new`);
    await writeFile(part, JSON.stringify(manifest));
    await rename(part, this.#file(name));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  /** Waits until the pod has come there; false when it takes longer than `limitMs`. */
  reached(name: string, state: Workload['until'], limitMs: number): Promise<boolean> {
    return this.#until(() => {
      const pod = this.#find(name);
      if (pod !== undefined) this.#uids.set(name, pod.uid);
      return pod !== undefined && isThere(pod, state);
    }, limitMs);
  }

  /** Waits until the node has nothing of the pods; false when it takes longer than `limitMs`. */
  gone(pods: readonly RunPod[], limitMs: number): Promise<boolean> {
    return this.#until(() => pods.every(({ name }) => this.#isGone(name)), limitMs);
  }

  /** Waits until the node has no pods at all. Throws when that takes too long. */
  async allGone(): Promise<void> {
    const isEmpty = () => this.#pods.list(undefined).length === 0 && [...this.#runtime].length === 0;
    if (!(await this.#until(isEmpty, GONE_MS)))
      throw new Error('the pods of a run do not go; see the logs of the node');
  }

  /** The UID that the node gave the pod; undefined when it never had it. */
  uidOf(name: string): string | undefined {
    return this.#uids.get(name);
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.json`);
  }

  #find(name: string): PodView | undefined {
    return this.#pods.list(undefined).find(({ work }) => isMeant(name, work.ref, this.#link.bus.node));
  }

  #isGone(name: string): boolean {
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

function isThere({ work, status }: PodView, state: Workload['until']): boolean {
  if (state === 'ended') return status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const containers = status?.containerStatuses ?? [];
  const ready = status?.phase === 'Running' && containers.every((container) => container.ready);
  if (state === 'ready' || !ready) return ready;
  return containers.length === work.pod?.spec.containers.length && containers.every((one) => one.restartCount > 0);
}
