import {
  type AdmissionNode,
  type AdmissionRecord,
  type Neighbour,
  type WantedResize,
  actualAllocation,
  admit,
  allocationOf,
  claimOf,
  compareResizes,
  refuseResize,
  sameAllocation,
  withActual,
  withAllocation,
} from '@kubus/admission';
import {
  type DeviceResource,
  type IdRange,
  type Pod,
  type PodStatus,
  type PodWork,
  type Refusal,
  type ResourceList,
  podRefOf,
} from '@kubus/contracts';
import { deviceRequests } from '@kubus/device-manager';
import { type IdPool, freeRange } from './id-ranges.ts';

/** Why a pod was ended for a critical one (kubelet behaviour 1.17, row 4b). */
const PREEMPTED: Refusal = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };

/** The condition of a pod that has not been granted the resources that it wants. */
const RESIZE_PENDING = 'PodResizePending';

/** The part of a pod's work that follows from what was decided about it. */
export type Terms = Pick<
  PodWork,
  'work' | 'pod' | 'failure' | 'userNamespace' | 'allocatedGeneration' | 'pendingResize'
>;

/** What is known of the pods when one more asks for its place. */
export interface NodePods {
  /** The pod as its source wants it now. */
  desired(uid: string): Pod | undefined;
  /** The pod holds nothing of the node any more, or its source does not want it any more. */
  inactive(uid: string): boolean;
}

/**
 * Who is on the node with which resources: decides about each pod once, and keeps what it decided (kubelet behaviour
 * 1.17, 1.18). A record is only ever replaced as a whole, so that whoever stores it sees by its identity that it changed.
 */
export class Admissions {
  readonly #pods: NodePods;
  readonly #ids: IdPool;
  readonly #records: Map<string, AdmissionRecord>;
  /** Admitted pods that want other resources than they have been granted. */
  readonly #wanting = new Map<string, Pod>();
  readonly #pending = new Map<string, { readonly refusal: Refusal; readonly since: string }>();
  /** Requests of what pods still have beside what they have been granted. */
  readonly #held = new Map<string, ResourceList>();
  #node: AdmissionNode;
  /** Resources of device plugins: whether one gives them out, or has been gone for so long that there are none. */
  readonly #pluginResources = new Map<string, 'given' | 'none'>();

  /** @param options.records those of earlier lives, by UID. */
  constructor(options: {
    node: AdmissionNode;
    ids: IdPool;
    pods: NodePods;
    records: ReadonlyMap<string, AdmissionRecord>;
  }) {
    this.#node = options.node;
    this.#ids = options.ids;
    this.#pods = options.pods;
    this.#records = new Map(options.records);
  }

  get uids(): Iterable<string> {
    return this.#records.keys();
  }

  /** What the runtime can do counts as the node's. */
  runtimeFeatures({ strictSupplementalGroups }: Pick<AdmissionNode, 'strictSupplementalGroups'>): void {
    this.#node = { ...this.#node, strictSupplementalGroups };
  }

  /** What the node says of itself from now on. Pods that have been taken stay (kubelet behaviour 1.16, Taints). */
  node(said: Pick<AdmissionNode, 'labels' | 'taints' | 'allocatable'>): void {
    this.#node = { ...this.#node, ...said };
  }

  /** What is known of a resource of device plugins from now on; devices that have been given stay. */
  deviceResource({ resource, devices, gone }: DeviceResource): void {
    this.#pluginResources.set(resource, gone && devices.length === 0 ? 'none' : 'given');
  }

  record(uid: string): AdmissionRecord | undefined {
    return this.#records.get(uid);
  }

  /** Nobody has decided about the pod, or what was decided is over. */
  isOpen(uid: string): boolean {
    return this.#wanted(uid) === undefined;
  }

  /** Decides about a pod of which nothing is known yet. UIDs of the pods that have to go for it. */
  decide(pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    const admission = admit(pod, this.#neighbours(uid), this.#countedNode);
    if (!admission.admitted) {
      this.#records.set(uid, { version: 1, ref: podRefOf(pod), verdict: 'rejected', failure: admission.refusal });
      return [];
    }
    this.take(pod, admission.victims, deviceRequests(pod).length > 0 ? 'awaited' : undefined);
    for (const victim of admission.victims) this.#evict(victim);
    return admission.victims;
  }

  /**
   * Takes a pod that is on the node already, whoever has brought it there: with what it has, where its status tells that it has not been
   * granted what it wants (kubelet behaviour 1.18).
   */
  takeOver(pod: Pod): void {
    const { conditions = [] } = pod.status ?? {};
    const waits = conditions.some(({ type, status }) => type === RESIZE_PENDING && status === 'True');
    const wanted = allocationOf(pod);
    const held = waits && pod.status !== undefined ? actualAllocation(pod, pod.status).containers : {};
    this.take(withAllocation(pod, { ...wanted, containers: { ...wanted.containers, ...held } }));
    this.desired(pod);
  }

  /** Takes a pod as it is. `awaits`: UIDs of those that have to end before it is started. `devices`: see the record. */
  take(pod: Pod, awaits: readonly string[] = [], devices?: 'awaited'): void {
    const userNamespace = this.#idsFor(pod);
    this.#records.set(pod.metadata.uid, {
      version: 1,
      ref: podRefOf(pod),
      verdict: 'admitted',
      allocated: allocationOf(pod),
      claim: claimOf(pod),
      ...(awaits.length > 0 && { awaits: [...awaits] }),
      ...(devices !== undefined && { devices }),
      ...(userNamespace !== undefined && { userNamespace }),
    });
  }

  /** Gives the pod ids for its user namespace, if there were none when it was taken. */
  provideIds(pod: Pod): void {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || record.userNamespace !== undefined) return;
    const userNamespace = this.#idsFor(pod);
    if (userNamespace !== undefined) this.#records.set(uid, { ...record, userNamespace });
  }

  /** Whether it is not to be started yet: pods that had to go for it are still there, or it has no devices yet. */
  waits(uid: string): boolean {
    const record = this.#records.get(uid);
    return record?.verdict === 'admitted' && (record.devices !== undefined || this.#awaitsOthers(record.awaits));
  }

  /** UIDs of the pods that lack nothing but devices. */
  get withoutDevices(): readonly string[] {
    return [...this.#records].flatMap(([uid, record]) => {
      const isReady = record.verdict === 'admitted' && record.devices !== undefined;
      return isReady && !this.#awaitsOthers(record.awaits) ? [uid] : [];
    });
  }

  /** The pod has been given its devices, or is refused because of them. Of one that does not wait for that nothing follows. */
  devices(uid: string, refusal: Refusal | undefined): void {
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || record.devices === undefined) return;
    const { ref, devices: _, ...rest } = record;
    if (refusal === undefined) this.#records.set(uid, { ref, ...rest });
    else this.#records.set(uid, { version: 1, ref, verdict: 'rejected', failure: refusal });
  }

  /**
   * The place of the pod is somebody else's from now on.
   *
   * @param left what of it may still be on the node: processes, or only what uses the ids of its user namespace
   */
  end(uid: string, left: 'processes' | 'ids' | 'nothing'): void {
    const record = this.#records.get(uid);
    const userNamespace = record && idsOf(record);
    const isKept = left === 'processes' || (left === 'ids' && userNamespace !== undefined);
    if (record === undefined || !isKept) this.#records.delete(uid);
    else if (record.verdict !== 'ending') {
      const ids = userNamespace !== undefined && { userNamespace };
      this.#records.set(uid, { version: 1, ref: record.ref, verdict: 'ending', ...ids });
    }
    this.#wanting.delete(uid);
    this.#pending.delete(uid);
    this.#held.delete(uid);
  }

  /** The pod's source wants this now. */
  desired(pod: Pod): void {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (record?.verdict === 'admitted' && !sameAllocation(allocationOf(pod), record.allocated)) {
      this.#wanting.set(uid, pod);
      return;
    }
    this.#wanting.delete(uid);
    this.#pending.delete(uid);
  }

  /** The pod has what its status tells. True when that has become less than what it was thought to hold. */
  status(pod: Pod, status: PodStatus): boolean {
    const { uid } = pod.metadata;
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted' || !this.#held.has(uid)) return false;
    const actual = { ...record.allocated, ...actualAllocation(pod, status) };
    if (sameAllocation(actual, record.allocated)) return this.#held.delete(uid);
    this.#held.set(uid, claimOf(withAllocation(pod, actual)).requests);
    return true;
  }

  terms(pod: Pod): Terms | undefined {
    const { uid } = pod.metadata;
    const record = this.#wanted(uid);
    if (record === undefined) return undefined;
    if (record.verdict === 'rejected') return { work: 'reject', pod, failure: record.failure };
    const { allocated, userNamespace } = record;
    const pending = this.#pending.get(uid);
    return {
      ...(record.verdict === 'evicted' ? { work: 'evict', failure: record.failure } : { work: 'sync' }),
      pod: withAllocation(pod, allocated),
      ...(userNamespace !== undefined && { userNamespace }),
      ...(allocated.generation !== undefined && { allocatedGeneration: allocated.generation }),
      ...(pending !== undefined && { pendingResize: { ...pending.refusal, wanted: allocationOf(pod) } }),
    };
  }

  /**
   * Looks at all resizes that are wanted and grants what can be granted. UIDs of those that were looked at.
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
    this.take(pod, awaits, devices);
    this.#wanting.delete(uid);
    this.#pending.delete(uid);
  }

  #awaitsOthers(victims: readonly string[] = []): boolean {
    return victims.some((victim) => !this.isOpen(victim) && !this.#pods.inactive(victim));
  }

  /**
   * The node without what plugins give out: whoever has a pod be given its devices hears whether they suffice, and no pod has
   * to go for another one's (kubelet behaviour 1.17, row 3).
   */
  get #countedNode(): AdmissionNode {
    const others = Object.entries(this.#node.allocatable).filter(([name]) => !this.#pluginResources.has(name));
    const none = [...this.#pluginResources].flatMap(([name, state]) => (state === 'none' ? [[name, '0']] : []));
    return { ...this.#node, allocatable: Object.fromEntries([...others, ...none]) as ResourceList };
  }

  #evict(uid: string): void {
    const record = this.#records.get(uid);
    if (record?.verdict !== 'admitted') return;
    const { ref, allocated, userNamespace } = record;
    const ids = userNamespace !== undefined && { userNamespace };
    this.#records.set(uid, { version: 1, ref, verdict: 'evicted', failure: PREEMPTED, allocated, ...ids });
  }

  /** What was decided about a pod that is not on its way out. */
  #wanted(uid: string): Exclude<AdmissionRecord, { verdict: 'ending' }> | undefined {
    const record = this.#records.get(uid);
    return record?.verdict === 'ending' ? undefined : record;
  }

  /** The ids of a pod that does not use the host's: those that it has, or free ones, if there are any. */
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

  /** Those that hold something of the node. One that has to go holds nothing: its place is somebody else's already. */
  #neighbours(uid: string): Neighbour[] {
    const neighbours: Neighbour[] = [];
    for (const [other, record] of this.#records) {
      if (other === uid || record.verdict !== 'admitted' || this.#pods.inactive(other)) continue;
      const claim = withActual(record.claim, this.#held.get(other) ?? {});
      neighbours.push({ uid: other, claim, pod: this.#pods.desired(other) });
    }
    return neighbours;
  }
}

function idsOf(record: AdmissionRecord): IdRange | undefined {
  return record.verdict === 'rejected' ? undefined : record.userNamespace;
}
