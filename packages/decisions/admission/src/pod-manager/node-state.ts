import type { AdmissionNode } from '../admission-node.ts';
import type { AdmissionRecord } from '../admission-record.ts';
import {
  CONFIG_MIRROR,
  type ClusterNode,
  type DeviceResource,
  type Pod,
  type PodFailure,
  type PodRef,
  type PodStatus,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type PressureCondition,
  type Refusal,
  type ResourceList,
  type RuntimePod,
  type ServiceShare,
  type SourceName,
} from '@kubus/contracts';
import { isSameRuntimeState } from '@kubus/pod';
import { isSet } from '@kubus/pod-lifecycle';
import { isTerminal } from '@kubus/pod-status';
import { Admissions } from './admissions.ts';
import type { IdPool } from './id-ranges.ts';
import { ownerOf } from './pod-owner.ts';
import { Works } from './works.ts';
import {
  type NodeView,
  type PodView,
  isBeingEnded,
  isBlocked,
  isStaticSource,
  hasLocalState,
  podWork,
  sameWork,
} from './pod-work.ts';

/**
 * A change that results from a decision: the new work and the new admission record of `uid`; undefined: removed. The record
 * has to be on disk before the work is published.
 */
export interface WorkChange {
  readonly uid: string;
  readonly work: PodWork | undefined;
  readonly record: AdmissionRecord | undefined;
}

/** The sync loop's state of the whole node. It is updated with facts and returns the work that changes; it does no I/O. */
export class NodeState {
  readonly #desired = new Map<string, { source: SourceName; update: PodUpdate }>();
  readonly #runtime = new Map<string, RuntimePod>();
  readonly #workers = new Map<string, PodWorkerReport>();
  readonly #works = new Works();
  readonly #complete = new Set<SourceName>();
  /** Desired pods without work: they wait for another pod, or until the runtime's pods are known. */
  readonly #held = new Set<string>();
  readonly #admissions: Admissions;
  #sources: readonly SourceName[] | undefined;
  #runtimeComplete = false;
  #runtimeFeatures = false;
  readonly #awaitsNode: boolean;
  /** What to do about a shutdown of the machine is known. */
  #isShutdownKnown: boolean;
  /** The machine's resources that pods may use. */
  readonly #machine: ResourceList;
  /** The Node object's properties, as JSON text. */
  #nodeSaid: string | undefined;
  #share: ServiceShare | undefined;

  /**
   * @param options.node from the node's configuration and its machine
   * @param options.ids for the pods' user namespaces
   * @param options.records verdicts of earlier epochs, by UID
   * @param options.awaitsShutdown nothing is decided before {@link open} or {@link close}
   * @param options.awaitsNode the node is a member of a cluster: no pod of the API server is admitted before {@link node}.
   */
  constructor(options: {
    node: AdmissionNode;
    ids: IdPool;
    records?: ReadonlyMap<string, AdmissionRecord>;
    awaitsNode?: boolean;
    awaitsShutdown?: boolean;
  }) {
    const { node, ids, records = new Map(), awaitsNode = false, awaitsShutdown = false } = options;
    this.#isShutdownKnown = !awaitsShutdown;
    this.#machine = node.allocatable;
    this.#awaitsNode = awaitsNode;
    const pods = { desired: (uid: string) => this.#desiredPod(uid), inactive: (uid: string) => this.#isInactive(uid) };
    this.#admissions = new Admissions({ node, ids, pods, records });
  }

  get sourcesComplete(): boolean {
    return this.#sources?.every((source) => this.#complete.has(source)) ?? false;
  }

  /** Enough is known to decide that a pod has no work. */
  get ready(): boolean {
    return this.#share !== undefined && this.sourcesComplete && this.#isShutdownKnown;
  }

  /** All pods of the sources and of the runtime are known, and who works on them. */
  get isListed(): boolean {
    return this.#share !== undefined && this.sourcesComplete && this.#mayAdmit;
  }

  /** The machine is not shutting down (any more). Pods that have ended for that, or were refused, do not come back. */
  open(): void {
    this.#admissions.closed(false);
    this.#isShutdownKnown = true;
  }

  /** The machine is shutting down: no pod is admitted any more. Returns the pods that have to end before it does. */
  close(): readonly Pod[] {
    this.#admissions.closed(true);
    this.#isShutdownKnown = true;
    const admitted = [...this.#desired.values()].flatMap(({ update: { pod } }) =>
      this.#admissions.record(pod.metadata.uid)?.verdict === 'admitted' ? [pod] : [],
    );
    const [ended, active] = partition(admitted, ({ metadata }) => this.#isInactive(metadata.uid));
    // An earlier process of this service has ended them.
    for (const { metadata } of ended) this.#admissions.endForShutdown(metadata.uid, 0);
    return active;
  }

  /** A pod ends because the machine shuts down. */
  endForShutdown(uid: string, graceSeconds: number): void {
    this.#admissions.endForShutdown(uid, graceSeconds);
  }

  /** Whether nothing of a pod runs, and its volumes are unmounted. */
  hasEnded(uid: string): boolean {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return !this.#works.has(uid);
    return worker.state === 'finished' || (worker.state === 'terminated' && worker.cleaned === true);
  }

  work(uid: string): PodWork | undefined {
    return this.#works.get(uid);
  }

  /** Sets which worker instances share the pods. Nothing is decided before. */
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

  /** Sets the runtime's features on which admission depends. */
  runtimeFeatures(features: Pick<AdmissionNode, 'strictSupplementalGroups'>): void {
    this.#runtimeFeatures = true;
    this.#admissions.runtimeFeatures(features);
  }

  /**
   * Sets the Node object of the API server, on which admission then depends. For resources that it does not list yet,
   * those of the machine count. Returns whether anything changed.
   */
  node({ labels, taints, allocatable }: Pick<ClusterNode, 'labels' | 'taints' | 'allocatable'>): boolean {
    const said = { labels, taints, allocatable: { ...this.#machine, ...allocatable } };
    const text = JSON.stringify(said);
    if (text === this.#nodeSaid) return false;
    this.#nodeSaid = text;
    this.#admissions.node(said);
    return true;
  }

  /**
   * The node cannot afford a pod any more (behaviour:eviction). False when there is nothing to end: the pod is not admitted, or has ended.
   */
  evict(uid: string, eviction: { readonly failure: PodFailure; readonly graceSeconds: number }): boolean {
    if (this.#admissions.record(uid)?.verdict === 'admitted' && this.#isInactive(uid)) return false;
    return this.#admissions.evict(uid, eviction);
  }

  /** See {@link Admissions.pressure}. */
  pressure(conditions: readonly PressureCondition[]): void {
    this.#admissions.pressure(conditions);
  }

  /** See {@link Admissions.deviceResource}. */
  deviceResource(resource: DeviceResource): void {
    this.#admissions.deviceResource(resource);
  }

  /** Pods that will be admitted if devices can be allocated to them. */
  get podsWithoutDevices(): readonly Pod[] {
    return this.#admissions.withoutDevices.flatMap((uid) => this.#desiredPod(uid) ?? []);
  }

  /** A pod's devices were allocated, or refused for a reason. */
  devices(uid: string, refusal: Refusal | undefined): void {
    this.#admissions.devices(uid, refusal);
  }

  /** A mirror pod is the API server's copy of a static pod of this node: it is neither started nor ended. */
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

  /** The pod has another status, which is read only if it matters. Returns whether the pod has fewer resources than before, so that others may get more. */
  status(uid: string, status: () => PodStatus): boolean {
    const pod = this.#desiredPod(uid);
    return pod !== undefined && this.#admissions.status(pod, status);
  }

  /** Returns whether the pod's state in the runtime changed, rather than only having been read again. */
  runtime(uid: string, pod: RuntimePod | undefined): boolean {
    const before = this.#runtime.get(uid);
    setOrDelete(this.#runtime, uid, pod);
    return !isSameRuntimeState(before, pod);
  }

  worker(uid: string, report: PodWorkerReport | undefined): void {
    setOrDelete(this.#workers, uid, report);
  }

  /**
   * Decides about one pod, and about those that have been waiting for it.
   *
   * @param now RFC 3339, UTC
   */
  decide(uid: string, now: string): WorkChange[] {
    return [...this.#decideOne(uid, now), ...this.#decideWaiting(now)];
  }

  /** Decides about the pods that may have been waiting for what was decided just now. */
  #decideWaiting(now: string): WorkChange[] {
    const changes: WorkChange[] = [];
    if (this.#mayAdmit) for (const held of this.#inOrder(this.#held)) changes.push(...this.#decideOne(held, now));
    // The allocation may be missing for a pod that no source has published yet.
    if (!this.sourcesComplete) return changes;
    for (const resized of this.#admissions.resize(now)) changes.push(...this.#decideOne(resized, now));
    return changes;
  }

  /** Decides about every pod again, which repairs anything that a single decision has missed. */
  decideAll(now: string): WorkChange[] {
    const uids = new Set([
      ...this.#desired.keys(),
      ...this.#works.keys(),
      ...this.#workers.keys(),
      ...this.#runtime.keys(),
      ...this.#admissions.uids,
    ]);
    const changes = this.#inOrder(uids).flatMap((uid) => this.#decideOne(uid, now));
    // Each decision may be what another pod has been waiting for.
    for (let waiting = this.#held.size; waiting >= 0; waiting--) {
      const more = this.#decideWaiting(now);
      if (more.length === 0) break;
      changes.push(...more);
    }
    return changes;
  }

  #decideOne(uid: string, now: string): WorkChange[] {
    const share = this.#share;
    if (share === undefined || !this.#isShutdownKnown) return [];
    const recorded = this.#admissions.record(uid);
    const victims = this.#admit(uid, now, share);
    const before = this.#works.get(uid);
    const after = podWork(this.#view(uid), this.#nodeView(now, share));
    if (after === undefined && this.#desired.has(uid)) this.#held.add(uid);
    else this.#held.delete(uid);
    // The resources of a pod that is being ended already count as free: if it is desired again, its UID has to be admitted again.
    const ended = after === undefined ? !this.#desired.has(uid) && this.sourcesComplete : after.work === 'kill';
    if (ended) this.#admissions.end(uid, this.#left(uid, after));
    const changes = victims.flatMap((victim) => this.#decideOne(victim, now));
    const record = this.#admissions.record(uid);
    if (sameWork(before, after) && record === recorded) return changes;
    this.#works.set(uid, after);
    return [{ uid, work: after, record }, ...changes];
  }

  /** Decides once whether a pod is admitted. Returns the UIDs of the pods that have to end for it. */
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
    if (hasLocalState(view) || isSet(pod.metadata.deletionTimestamp) || isTerminal(pod.status?.phase)) {
      this.#admissions.takeOver(pod);
      return [];
    }
    const isNodeKnown = isStaticSource(view.desired.source) || !this.#awaitsNode || this.#nodeSaid !== undefined;
    return this.#mayAdmit && isNodeKnown ? this.#admissions.decide(pod) : [];
  }

  /** What an ending pod may still have on the node; `processes` as long as that is unknown. */
  #left(uid: string, work: PodWork | undefined): 'processes' | 'ids' | 'nothing' {
    const state = this.#workers.get(uid)?.state;
    const isLeft = (work !== undefined && state !== 'finished') || !this.#runtimeComplete || this.#runtime.has(uid);
    if (!isLeft) return 'nothing';
    return state === 'terminated' || state === 'finished' ? 'ids' : 'processes';
  }

  /** Before all pods of the runtime are known, a running pod would be mistaken for a new one. */
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

  /** behaviour:admission: pods that have ended, and those that are not desired, use nothing of the node. */
  #isInactive(uid: string): boolean {
    const state = this.#workers.get(uid)?.state;
    const work = this.#works.get(uid)?.work;
    // A worker that has finished an earlier pod of this UID may not have received the new one.
    if (state === 'terminated' || (state === 'finished' && work !== 'sync')) return true;
    const pod = this.#desiredPod(uid);
    if (pod === undefined) return this.sourcesComplete;
    return isTerminal(pod.status?.phase) && state !== 'terminating';
  }

  /** Oldest first. */
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
    for (const work of this.#works.named(pod.metadata)) {
      const { uid } = work.ref;
      if (uid === pod.metadata.uid || (work.source !== 'runtime' && !isStaticSource(work.source))) continue;
      if (this.#workers.get(uid)?.state !== 'finished') return work.ref;
    }
    return undefined;
  }
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
