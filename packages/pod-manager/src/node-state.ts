import {
  type Pod,
  type PodRef,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type RuntimePod,
  type ServiceShare,
  type SourceName,
} from '@kubus/contracts';
import { ownerOf } from './partition.ts';
import { type NodeView, isStatic, podWork, sameWork } from './pod-work.ts';

/** A change that a decision asks for: the work under `uid` is now this, or gone. */
export interface WorkChange {
  readonly uid: string;
  readonly work: PodWork | undefined;
}

/**
 * What the sync loop knows of the whole node. It takes in what others say and answers with the works that change by it;
 * it does nothing itself.
 */
export class NodeState {
  readonly #desired = new Map<string, { source: SourceName; update: PodUpdate }>();
  readonly #runtime = new Map<string, RuntimePod>();
  readonly #workers = new Map<string, PodWorkerReport>();
  readonly #works = new Map<string, PodWork>();
  readonly #complete = new Set<SourceName>();
  #sources: readonly SourceName[] | undefined;
  #runtimeComplete = false;
  #share: ServiceShare | undefined;

  get sourcesComplete(): boolean {
    return this.#sources?.every((source) => this.#complete.has(source)) ?? false;
  }

  /** Enough is known to say that a pod has no work. */
  get ready(): boolean {
    return this.#share !== undefined && this.sourcesComplete;
  }

  work(uid: string): PodWork | undefined {
    return this.#works.get(uid);
  }

  /** Which worker instances share the pods from now on. As long as that is not known, nothing is decided. */
  shared(share: ServiceShare): void {
    this.#share = share;
  }

  configured(sources: readonly SourceName[]): void {
    this.#sources = sources;
  }

  sourceComplete(source: SourceName): void {
    this.#complete.add(source);
  }

  runtimeComplete(): void {
    this.#runtimeComplete = true;
  }

  desired(source: SourceName, update: PodUpdate): void {
    this.#desired.set(update.pod.metadata.uid, { source, update });
  }

  undesired(source: SourceName, uid: string): void {
    if (this.#desired.get(uid)?.source === source) this.#desired.delete(uid);
  }

  /** Returns whether the runtime has something else of the pod than before, and not only read it again. */
  runtime(uid: string, pod: RuntimePod | undefined): boolean {
    const before = this.#runtime.get(uid);
    setOrDelete(this.#runtime, uid, pod);
    return withoutStamp(before) !== withoutStamp(pod);
  }

  worker(uid: string, report: PodWorkerReport | undefined): void {
    setOrDelete(this.#workers, uid, report);
  }

  /** Decides about one pod, and about those that waited for it. */
  decide(uid: string, now: string): WorkChange[] {
    const changes = this.#decideOne(uid, now);
    if (changes.some(({ work }) => work === undefined)) changes.push(...this.#decideWaiting(now));
    return changes;
  }

  /** Decides about every pod: the repair of whatever a single decision has missed. */
  decideAll(now: string): WorkChange[] {
    const uids = new Set([
      ...this.#desired.keys(),
      ...this.#works.keys(),
      ...this.#workers.keys(),
      ...this.#runtime.keys(),
    ]);
    return [...uids].flatMap((uid) => this.decide(uid, now));
  }

  #decideWaiting(now: string): WorkChange[] {
    return [...this.#desired.keys()].filter((uid) => !this.#works.has(uid)).flatMap((uid) => this.#decideOne(uid, now));
  }

  #decideOne(uid: string, now: string): WorkChange[] {
    const share = this.#share;
    if (share === undefined) return [];
    const before = this.#works.get(uid);
    const after = podWork(
      {
        desired: this.#desired.get(uid),
        runtime: this.#runtime.get(uid),
        worker: this.#workers.get(uid),
        work: before,
      },
      this.#nodeView(now, share),
    );
    if (sameWork(before, after)) return [];
    setOrDelete(this.#works, uid, after);
    return [{ uid, work: after }];
  }

  #nodeView(now: string, { instances, term }: ServiceShare): NodeView {
    return {
      sourcesComplete: this.sourcesComplete,
      runtimeComplete: this.#runtimeComplete,
      now,
      assign: (uid) => ({ worker: ownerOf(uid, instances), term }),
      blocker: (pod) => this.#blocker(pod),
    };
  }

  #blocker(pod: Pod): PodRef | undefined {
    const { uid, name, namespace } = pod.metadata;
    for (const [other, work] of this.#works) {
      const sameName = work.ref.name === name && work.ref.namespace === namespace;
      if (other === uid || !sameName || (work.source !== 'runtime' && !isStatic(work.source))) continue;
      if (this.#workers.get(other)?.state !== 'finished') return work.ref;
    }
    return undefined;
  }
}

function withoutStamp(pod: RuntimePod | undefined): string | undefined {
  return pod && JSON.stringify({ ...pod, stamp: undefined });
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
