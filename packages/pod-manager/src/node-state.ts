import type { AdmissionNode, AdmissionRecord } from '@kubus/admission';
import {
  CONFIG_MIRROR,
  type ClusterNode,
  type DeviceResource,
  type Pod,
  type PodRef,
  type PodStatus,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type Refusal,
  type ResourceList,
  type RuntimePod,
  type ServiceShare,
  type SourceName,
} from '@kubus/contracts';
import { isSet } from '@kubus/pod-lifecycle';
import { isTerminal } from '@kubus/pod-status';
import { Admissions } from './admissions.ts';
import type { IdPool } from './id-ranges.ts';
import { ownerOf } from './partition.ts';
import {
  type NodeView,
  type PodView,
  isBeingEnded,
  isBlocked,
  isStatic,
  isThere,
  podWork,
  sameWork,
} from './pod-work.ts';

/**
 * A change that a decision asks for: the work under `uid` is now this, or gone, and so is what is recorded of its
 * admission. The record has to be on disk before the work is told.
 */
export interface WorkChange {
  readonly uid: string;
  readonly work: PodWork | undefined;
  readonly record: AdmissionRecord | undefined;
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
  /** Desired pods without work: they wait for another pod, or for what has to be known of the runtime. */
  readonly #held = new Set<string>();
  readonly #admissions: Admissions;
  #sources: readonly SourceName[] | undefined;
  #runtimeComplete = false;
  #runtimeFeatures = false;
  readonly #awaitsNode: boolean;
  /** What the machine has for pods. */
  readonly #machine: ResourceList;
  /** What the Node says, as text. */
  #nodeSaid: string | undefined;
  #share: ServiceShare | undefined;

  /**
   * @param options.node as its configuration and its machine have it
   * @param options.ids for the pods' user namespaces
   * @param options.records what was decided in earlier lives, by UID.
   * @param options.awaitsNode the node is a member of a cluster: no pod of the API server is admitted before {@link node}.
   */
  constructor(options: {
    node: AdmissionNode;
    ids: IdPool;
    records?: ReadonlyMap<string, AdmissionRecord>;
    awaitsNode?: boolean;
  }) {
    const { node, ids, records = new Map(), awaitsNode = false } = options;
    this.#machine = node.allocatable;
    this.#awaitsNode = awaitsNode;
    const pods = { desired: (uid: string) => this.#desiredPod(uid), inactive: (uid: string) => this.#isInactive(uid) };
    this.#admissions = new Admissions({ node, ids, pods, records });
  }

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

  /** What the runtime can do, as far as it decides which pods are taken. */
  runtimeFeatures(features: Pick<AdmissionNode, 'strictSupplementalGroups'>): void {
    this.#runtimeFeatures = true;
    this.#admissions.runtimeFeatures(features);
  }

  /**
   * The Node of the API server, by which pods are admitted from now on. Of resources of which it does not speak yet, the node
   * has what its machine has. Returns whether anything is different by it.
   */
  node({ labels, taints, allocatable }: Pick<ClusterNode, 'labels' | 'taints' | 'allocatable'>): boolean {
    const said = { labels, taints, allocatable: { ...this.#machine, ...allocatable } };
    const text = JSON.stringify(said);
    if (text === this.#nodeSaid) return false;
    this.#nodeSaid = text;
    this.#admissions.node(said);
    return true;
  }

  /** See {@link Admissions.deviceResource}. */
  deviceResource(resource: DeviceResource): void {
    this.#admissions.deviceResource(resource);
  }

  /** Pods that are taken if they get devices. */
  get podsWithoutDevices(): readonly Pod[] {
    return this.#admissions.withoutDevices.flatMap((uid) => this.#desiredPod(uid) ?? []);
  }

  /** A pod has been given its devices; or not, and why. */
  devices(uid: string, refusal: Refusal | undefined): void {
    this.#admissions.devices(uid, refusal);
  }

  /** A mirror pod is the API server's copy of a static pod of this node: it is nothing to run, and nothing to end. */
  desired(source: SourceName, update: PodUpdate): void {
    if (source === 'api' && update.pod.metadata.annotations?.[CONFIG_MIRROR] !== undefined) {
      this.undesired(source, update.pod.metadata.uid);
      return;
    }
    this.#desired.set(update.pod.metadata.uid, { source, update });
    this.#admissions.desired(update.pod);
  }

  undesired(source: SourceName, uid: string): void {
    if (this.#desired.get(uid)?.source !== source) return;
    this.#desired.delete(uid);
    this.#held.delete(uid);
  }

  /** What the pod shows of itself. Returns whether it has less than before, so that others may get more. */
  status(uid: string, status: PodStatus): boolean {
    const pod = this.#desiredPod(uid);
    return pod !== undefined && this.#admissions.status(pod, status);
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

  /**
   * Decides about one pod, and about those that waited for it.
   *
   * @param now RFC 3339, UTC
   */
  decide(uid: string, now: string): WorkChange[] {
    const changes = this.#decideOne(uid, now);
    if (this.#mayAdmit) for (const held of this.#inOrder(this.#held)) changes.push(...this.#decideOne(held, now));
    // What one pod is granted may be missing for another one that no source has told of yet.
    if (!this.sourcesComplete) return changes;
    for (const resized of this.#admissions.resize(now)) changes.push(...this.#decideOne(resized, now));
    return changes;
  }

  /** Decides about every pod: the repair of whatever a single decision has missed. */
  decideAll(now: string): WorkChange[] {
    const uids = new Set([
      ...this.#desired.keys(),
      ...this.#works.keys(),
      ...this.#workers.keys(),
      ...this.#runtime.keys(),
      ...this.#admissions.uids,
    ]);
    return this.#inOrder(uids).flatMap((uid) => this.decide(uid, now));
  }

  #decideOne(uid: string, now: string): WorkChange[] {
    const share = this.#share;
    if (share === undefined) return [];
    const recorded = this.#admissions.record(uid);
    const victims = this.#admit(uid, now, share);
    const before = this.#works.get(uid);
    const after = podWork(this.#view(uid), this.#nodeView(now, share));
    if (after === undefined && this.#desired.has(uid)) this.#held.add(uid);
    else this.#held.delete(uid);
    // The place of a pod that is ended is somebody else's already: wanted again, its UID asks for one anew.
    const ended = after === undefined ? !this.#desired.has(uid) && this.sourcesComplete : after.work === 'kill';
    if (ended) this.#admissions.end(uid, this.#left(uid, after));
    const changes = victims.flatMap((victim) => this.#decideOne(victim, now));
    const record = this.#admissions.record(uid);
    if (sameWork(before, after) && record === recorded) return changes;
    setOrDelete(this.#works, uid, after);
    return [{ uid, work: after, record }, ...changes];
  }

  /** Decides once whether a pod is taken. UIDs of the pods that have to go for it. */
  #admit(uid: string, now: string, share: ServiceShare): readonly string[] {
    const view = this.#view(uid);
    const pod = view.desired?.update.pod;
    if (view.desired === undefined || pod === undefined) return [];
    if (isBeingEnded(view)) return [];
    if (!this.#admissions.isOpen(uid)) {
      this.#admissions.provideIds(pod);
      return [];
    }
    if (isBlocked(view, this.#nodeView(now, share))) return [];
    if (isThere(view) || isSet(pod.metadata.deletionTimestamp) || isTerminal(pod.status?.phase)) {
      this.#admissions.takeOver(pod);
      return [];
    }
    const isNodeKnown = isStatic(view.desired.source) || !this.#awaitsNode || this.#nodeSaid !== undefined;
    return this.#mayAdmit && isNodeKnown ? this.#admissions.decide(pod) : [];
  }

  /** What of a pod that is to end may still be on the node; all, as long as nobody knows. */
  #left(uid: string, work: PodWork | undefined): 'processes' | 'ids' | 'nothing' {
    const state = this.#workers.get(uid)?.state;
    const isLeft = (work !== undefined && state !== 'finished') || !this.#runtimeComplete || this.#runtime.has(uid);
    if (!isLeft) return 'nothing';
    return state === 'terminated' || state === 'finished' ? 'ids' : 'processes';
  }

  /** Before the runtime is known whole, a pod that it runs already would be taken for a new one. */
  get #mayAdmit(): boolean {
    return this.#runtimeComplete && this.#runtimeFeatures;
  }

  #view(uid: string): PodView {
    const desired = this.#desired.get(uid);
    return {
      desired,
      runtime: this.#runtime.get(uid),
      worker: this.#workers.get(uid),
      work: this.#works.get(uid),
      terms: desired && this.#admissions.terms(desired.update.pod),
      ending: this.#admissions.record(uid)?.verdict === 'ending',
      waits: this.#admissions.waits(uid),
    };
  }

  #desiredPod(uid: string): Pod | undefined {
    return this.#desired.get(uid)?.update.pod;
  }

  /** Kubelet behaviour 1.17: pods that are over, and those that no source wants, hold nothing of the node. */
  #isInactive(uid: string): boolean {
    const state = this.#workers.get(uid)?.state;
    const work = this.#works.get(uid)?.work;
    // A worker that is through with an earlier life of the UID may not have heard of the new one.
    if (state === 'terminated' || (state === 'finished' && work !== 'sync')) return true;
    const pod = this.#desiredPod(uid);
    if (pod === undefined) return this.sourcesComplete;
    return isTerminal(pod.status?.phase) && state !== 'terminating';
  }

  /** Those first that were created first. */
  #inOrder(uids: Iterable<string>): string[] {
    const created = (uid: string) => this.#desiredPod(uid)?.metadata.creationTimestamp ?? '';
    return [...uids].sort((a, b) => (created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0));
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
