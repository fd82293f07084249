import { type AdmissionNode } from '../admission-node.ts';
import { type AdmissionRecord } from '../admission-record.ts';
import { type Neighbour, admit } from '../admit/admit.ts';
import { type WantedResize, compareResizes, refuseResize } from '../resize/grant.ts';
import { actualAllocation, allocationOf, sameAllocation, withAllocation } from '../allocation.ts';
import { claimOf, withActual } from '../claim.ts';
import {
  type DeviceResource,
  type IdRange,
  type Pod,
  type PodFailure,
  type PodStatus,
  type PodWork,
  type PressureCondition,
  type Refusal,
  type ResourceList,
  podRefOf,
} from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { exclusiveRequest } from '@kubus/exclusive';
import { ENDED_BY_SHUTDOWN, REFUSED_BY_SHUTDOWN } from '@kubus/pod-status';
import { type IdPool, freeRange } from './id-ranges.ts';

/** Why a pod was ended in favor of a critical one (behaviour:admission, row 4b). */
const PREEMPTED: Refusal = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };

/** The condition of a pod whose desired resources have not been allocated yet. */
const RESIZE_PENDING = 'PodResizePending';

/** The part of a pod's work that results from its admission. */
export type Terms = Pick<
  PodWork,
  'work' | 'pod' | 'failure' | 'graceSeconds' | 'userNamespace' | 'allocatedGeneration' | 'pendingResize'
>;

/** What of an admission another service has to decide. */
type Open = Pick<Extract<AdmissionRecord, { verdict: 'admitted' }>, 'devices' | 'shortage'>;

/** What is known about the other pods when a pod is to be admitted. */
export interface NodePods {
  /** The pod as its source desires it now. */
  desired(uid: string): Pod | undefined;
  /** The pod uses no resources any more, or is no longer desired. */
  inactive(uid: string): boolean;
}

/**
 * The pods that the node has admitted, and their resources. Decides about each pod once and keeps the verdict
 * (behaviour:admission, behaviour:resize). A record is only replaced as a whole, so a changed record is a different object.
 */
export class Admissions {
  readonly #pods: NodePods;
  readonly #ids: IdPool;
  readonly #records: Map<string, AdmissionRecord>;
  /** UIDs of admitted pods: far fewer than there are records when more pods are desired than the node may have. */
  readonly #admitted = new Set<string>();
  /** Admitted pods whose requested resources differ from the allocated ones. */
  readonly #wanting = new Map<string, Pod>();
  readonly #pending = new Map<string, { readonly refusal: Refusal; readonly since: string }>();
  /** Requests of resources that pods still have although fewer have been allocated to them. */
  readonly #held = new Map<string, ResourceList>();
  #node: AdmissionNode;
  /** The machine is shutting down: no pod is admitted. */
  #closed = false;
  /** UIDs of pods that were not admitted because of that. In memory alone: static pods are asked again after the boot. */
  readonly #refused = new Set<string>();
  /** Grace periods in seconds of pods that end because of it, by UID. In memory alone, as well. */
  readonly #ends = new Map<string, number>();
  /** Resources of device plugins: whether a plugin serves them, or has been disconnected for so long that none are left. */
  readonly #pluginResources = new Map<string, 'given' | 'none'>();

  /** @param options.records verdicts of earlier epochs, by UID */
  constructor(options: {
    node: AdmissionNode;
    ids: IdPool;
    pods: NodePods;
    records: ReadonlyMap<string, AdmissionRecord>;
  }) {
    this.#node = options.node;
    this.#ids = options.ids;
    this.#pods = options.pods;
    this.#records = new Map();
    for (const [uid, record] of options.records) this.#record(uid, record);
  }

  get uids(): Iterable<string> {
    return this.#records.keys();
  }

  /** Sets the runtime's features, which count as the node's. */
  runtimeFeatures({ strictSupplementalGroups }: Pick<AdmissionNode, 'strictSupplementalGroups'>): void {
    this.#node = { ...this.#node, strictSupplementalGroups };
  }

  /** Sets the node's properties. Admitted pods stay admitted (behaviour:node-object, Taints). */
  node(said: Pick<AdmissionNode, 'labels' | 'taints' | 'allocatable'>): void {
    this.#node = { ...this.#node, ...said };
  }

  /** Sets what the node is short of. Admitted pods stay admitted. */
  pressure(conditions: readonly PressureCondition[]): void {
    this.#node = { ...this.#node, pressure: conditions };
  }

  /** Sets what is known about a device plugin's resource. Allocated devices stay allocated. */
  deviceResource({ resource, devices, gone }: DeviceResource): void {
    this.#pluginResources.set(resource, gone && devices.length === 0 ? 'none' : 'given');
  }

  record(uid: string): AdmissionRecord | undefined {
    return this.#records.get(uid);
  }

  /** The pod has no verdict, or its verdict no longer applies. */
  isOpen(uid: string): boolean {
    return this.#wanted(uid) === undefined && !this.#refused.has(uid);
  }

  /** Decides about a pod without a verdict. Returns the UIDs of the pods that have to end for its sake. */
  decide(pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    const admission = admit(pod, this.#neighbours(uid), this.#countedNode);
    if (!admission.admitted) {
      // The reference asks its managers of CPUs and memory first, and counts what they refuse (behaviour:admission, row 3).
      if (admission.short && !this.#closed && this.#wantsAlone(pod)) {
        this.take(pod, [], { devices: 'awaited', shortage: admission.refusal });
        return [];
      }
      this.#record(uid, { version: 1, ref: podRefOf(pod), verdict: 'rejected', failure: admission.refusal });
      return [];
    }
    if (this.#closed) {
      this.#refused.add(uid);
      return [];
    }
    this.take(pod, admission.victims, this.#needsMore(pod) ? { devices: 'awaited' } : {});
    for (const victim of admission.victims) this.evict(victim, { failure: PREEMPTED });
    return admission.victims;
  }

  /** It requests devices, or something for itself alone, which another service allocates. */
  #needsMore(pod: Pod): boolean {
    return deviceRequests(pod).length > 0 || this.#wantsAlone(pod);
  }

  #wantsAlone(pod: Pod): boolean {
    const { exclusive } = this.#node;
    return exclusive !== undefined && exclusiveRequest(pod, exclusive) !== undefined;
  }

  /**
   * Admits a pod that is already on the node. Its resources are those of its status where that says that a resize was
   * not allocated (behaviour:resize).
   */
  takeOver(pod: Pod): void {
    const { conditions = [] } = pod.status ?? {};
    const waits = conditions.some(({ type, status }) => type === RESIZE_PENDING && status === 'True');
    const wanted = allocationOf(pod);
    const held = waits && pod.status !== undefined ? actualAllocation(pod, pod.status).containers : {};
    this.take(withAllocation(pod, { ...wanted, containers: { ...wanted.containers, ...held } }));
    this.desired(pod);
  }

  /**
   * Admits a pod without checks. `awaits`: UIDs of the pods that have to end before it is started. `open`: see the record.
   */
  take(pod: Pod, awaits: readonly string[] = [], open: Open = {}): void {
    const userNamespace = this.#idsFor(pod);
    this.#record(pod.metadata.uid, {
      version: 1,
      ref: podRefOf(pod),
      verdict: 'admitted',
      allocated: allocationOf(pod),
      claim: claimOf(pod),
      ...(awaits.length > 0 && { awaits: [...awaits] }),
      ...open,
      ...(userNamespace !== undefined && { userNamespace }),
    });
  }

  /** Assigns ids to the pod's user namespace, if none were free at its admission. */
  provideIds(pod: Pod): void {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || record.userNamespace !== undefined) return;
    const userNamespace = this.#idsFor(pod);
    if (userNamespace !== undefined) this.#record(uid, { ...record, userNamespace });
  }

  /**
   * Whether it must not be started yet: pods that have to end first still exist, or its devices are not allocated yet.
   */
  waits(uid: string): boolean {
    const record = this.#records.get(uid);
    return record?.verdict === 'admitted' && (record.devices !== undefined || this.#awaitsOthers(record.awaits));
  }

  /** UIDs of the pods that only wait for devices. */
  get withoutDevices(): readonly string[] {
    return [...this.#admitted].filter((uid) => {
      const record = this.#records.get(uid);
      return record?.verdict === 'admitted' && record.devices !== undefined && !this.#awaitsOthers(record.awaits);
    });
  }

  /** The pod's devices are allocated, or were refused. Has no effect on a pod that does not wait for devices. */
  devices(uid: string, refusal: Refusal | undefined): void {
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || record.devices === undefined) return;
    const { ref, devices: _, shortage, ...rest } = record;
    const failure = refusal ?? shortage;
    if (failure === undefined) this.#record(uid, { ref, ...rest });
    else this.#record(uid, { version: 1, ref, verdict: 'rejected', failure });
  }

  /**
   * Frees the pod's resources for other pods.
   *
   * @param left what of it may still be on the node: processes, or only something that uses the ids of its user namespace
   */
  end(uid: string, left: 'processes' | 'ids' | 'nothing'): void {
    const record = this.#records.get(uid);
    const userNamespace = record && idsOf(record);
    const isKept = left === 'processes' || (left === 'ids' && userNamespace !== undefined);
    if (record === undefined || !isKept) this.#record(uid, undefined);
    else if (record.verdict !== 'ending') {
      const ids = userNamespace !== undefined && { userNamespace };
      this.#record(uid, { version: 1, ref: record.ref, verdict: 'ending', ...ids });
    }
    for (const known of [this.#wanting, this.#pending, this.#held, this.#refused, this.#ends]) known.delete(uid);
  }

  /** Sets the pod as its source desires it now. */
  desired(pod: Pod): void {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (
      record?.verdict === 'admitted' &&
      record.shortage === undefined &&
      !sameAllocation(allocationOf(pod), record.allocated)
    ) {
      this.#wanting.set(uid, pod);
      return;
    }
    this.#wanting.delete(uid);
    this.#pending.delete(uid);
  }

  /** Reads the actual resources from the pod's status. True when they have decreased. */
  status(pod: Pod, status: () => PodStatus): boolean {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || !this.#held.has(uid)) return false;
    const actual = { ...record.allocated, ...actualAllocation(pod, status()) };
    if (sameAllocation(actual, record.allocated)) return this.#held.delete(uid);
    this.#held.set(uid, claimOf(withAllocation(pod, actual)).requests);
    return true;
  }

  /** Whether the machine is shutting down, so that no pod is admitted (behaviour:admission, row 8). */
  closed(closed: boolean): void {
    this.#closed = closed;
  }

  /** An admitted pod ends because the machine shuts down. */
  endForShutdown(uid: string, graceSeconds: number): void {
    this.#ends.set(uid, graceSeconds);
  }

  /** An admitted pod ends and stays failed. False: it is not admitted. */
  evict(uid: string, eviction: { readonly failure: PodFailure; readonly graceSeconds?: number }): boolean {
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted') return record?.verdict === 'evicted';
    const { ref, allocated, userNamespace } = record;
    const ids = userNamespace !== undefined && { userNamespace };
    this.#record(uid, { version: 1, ref, verdict: 'evicted', ...eviction, allocated, ...ids });
    return true;
  }

  terms(pod: Pod): Terms | undefined {
    const { uid } = pod.metadata;
    if (this.#refused.has(uid)) return { work: 'reject', pod, failure: REFUSED_BY_SHUTDOWN };
    const record = this.#wanted(uid);
    if (record === undefined) return undefined;
    if (record.verdict === 'rejected') return { work: 'reject', pod, failure: record.failure };
    const { allocated, userNamespace } = record;
    const pending = this.#pending.get(uid);
    return {
      ...(record.verdict === 'evicted' ? evictionOf(record) : this.#kept(uid)),
      pod: withAllocation(pod, allocated),
      ...(userNamespace !== undefined && { userNamespace }),
      ...(allocated.generation !== undefined && { allocatedGeneration: allocated.generation }),
      ...(pending !== undefined && { pendingResize: { ...pending.refusal, wanted: allocationOf(pod) } }),
    };
  }

  /**
   * Checks all requested resizes and grants those that are possible. Returns the UIDs of those that were checked.
   *
   * @param now RFC 3339, UTC
   */
  resize(now: string): string[] {
    const wanted = [...this.#wanting].flatMap(([uid, pod]): WantedResize[] => {
      const record = this.#records.get(uid);
      if (record?.verdict !== 'admitted' || this.#pods.inactive(uid)) return [];
      return [{ pod, granted: record.allocated, since: this.#pending.get(uid)?.since ?? now }];
    });
    for (const one of wanted.sort(compareResizes)) this.#resizeOne(one);
    return wanted.map(({ pod }) => pod.metadata.uid);
  }

  #resizeOne({ pod, granted, since }: WantedResize): void {
    const { uid } = pod.metadata;
    const refusal = refuseResize(pod, granted, this.#neighbours(uid), this.#countedNode);
    if (refusal !== undefined) {
      this.#pending.set(uid, { refusal, since });
      return;
    }
    const record = this.#records.get(uid);
    this.#held.set(uid, claimOf(withAllocation(pod, granted)).requests);
    const { awaits, devices } = record?.verdict === 'admitted' ? record : {};
    this.take(pod, awaits, devices && { devices });
    this.#wanting.delete(uid);
    this.#pending.delete(uid);
  }

  #record(uid: string, record: AdmissionRecord | undefined): void {
    if (record === undefined) this.#records.delete(uid);
    else this.#records.set(uid, record);
    if (record?.verdict === 'admitted') this.#admitted.add(uid);
    else this.#admitted.delete(uid);
  }

  #awaitsOthers(victims: readonly string[] = []): boolean {
    return victims.some((victim) => !this.isOpen(victim) && !this.#pods.inactive(victim));
  }

  /**
   * The node without the resources of device plugins: whether these suffice is decided when they are allocated, and no pod is
   * preempted for them (behaviour:admission, row 3).
   */
  get #countedNode(): AdmissionNode {
    const others = Object.entries(this.#node.allocatable).filter(([name]) => !this.#pluginResources.has(name));
    const none = [...this.#pluginResources].flatMap(([name, state]) => (state === 'none' ? [[name, '0']] : []));
    return { ...this.#node, allocatable: Object.fromEntries([...others, ...none]) as ResourceList };
  }

  /** What is to be done with an admitted pod. */
  #kept(uid: string): Pick<Terms, 'work' | 'failure' | 'graceSeconds'> {
    const graceSeconds = this.#ends.get(uid);
    return graceSeconds === undefined ? { work: 'sync' } : { work: 'evict', failure: ENDED_BY_SHUTDOWN, graceSeconds };
  }

  /** The verdict about a pod that is not being ended. */
  #wanted(uid: string): Exclude<AdmissionRecord, { verdict: 'ending' }> | undefined {
    const record = this.#records.get(uid);
    return record?.verdict === 'ending' ? undefined : record;
  }

  /** Ids for a pod that does not use the host's: those that it has, or free ones, if there are any. */
  #idsFor({ metadata: { uid }, spec }: Pod): IdRange | undefined {
    if (spec.hostUsers !== false) return undefined;
    const record = this.#records.get(uid);
    const own = record && idsOf(record);
    return (
      own ??
      freeRange(
        this.#ids,
        uid,
        [...this.#records.values()].flatMap((one) => idsOf(one) ?? []),
      )
    );
  }

  /** The pods that use resources. A pod that has to end uses none: its resources already count as free. */
  #neighbours(uid: string): Neighbour[] {
    const neighbours: Neighbour[] = [];
    for (const other of this.#admitted) {
      const record = this.#records.get(other);
      if (other === uid || record?.verdict !== 'admitted' || this.#pods.inactive(other)) continue;
      if (record.shortage !== undefined) continue;
      const claim = withActual(record.claim, this.#held.get(other) ?? {});
      neighbours.push({ uid: other, claim, pod: this.#pods.desired(other) });
    }
    return neighbours;
  }
}

function evictionOf({
  failure,
  graceSeconds,
}: Extract<AdmissionRecord, { verdict: 'evicted' }>): Pick<Terms, 'work' | 'failure' | 'graceSeconds'> {
  return { work: 'evict', failure, ...(graceSeconds !== undefined && { graceSeconds }) };
}

function idsOf(record: AdmissionRecord): IdRange | undefined {
  return record.verdict === 'rejected' ? undefined : record.userNamespace;
}
