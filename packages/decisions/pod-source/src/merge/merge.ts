import {
  CONFIG_MIRROR,
  CONFIG_SEEN,
  CONFIG_SOURCE,
  type Pod,
  type PodOperation,
  type PodUpdate,
} from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';

/** Annotations that the node itself maintains; they are not part of the pod in its source. */
const localAnnotations: readonly string[] = [CONFIG_SOURCE, CONFIG_MIRROR, CONFIG_SEEN];

/** The order in which the changes of one merge are delivered: removals first, so that names and UIDs are free for additions. */
const deliveryOrder: readonly PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];

interface SourceState {
  /** It has reported a complete set at least once. */
  readonly complete: boolean;
  /** By UID. */
  readonly pods: ReadonlyMap<string, Pod>;
}

/** The desired pods of every registered source, by the source's name. */
export type ConfigState = ReadonlyMap<string, SourceState>;

export interface SourceSet {
  readonly source: string;
  readonly pods: readonly Pod[];
  /** True: these are all pods of the source, and its other pods are removed. False: only these have changed. */
  readonly complete: boolean;
  /** UIDs of removed pods, unless `pods` has them. */
  readonly removed?: readonly string[] | undefined;
}

/** A pod that was dropped because another pod of its source has its name or UID. */
export interface DroppedPod {
  readonly pod: Pod;
  /** The field that another pod has, too. */
  readonly field: 'metadata.name' | 'metadata.uid';
  /** The pod that has it, and is used. */
  readonly other: Pod;
  /** The reason of the Kubernetes event that reports it. */
  readonly reason: 'FailedValidation';
  readonly message: string;
}

export interface MergeResult {
  readonly state: ConfigState;
  /** At most one for each pod, in delivery order. */
  readonly updates: readonly PodUpdate[];
  readonly dropped: readonly DroppedPod[];
  /** The source has become complete with this set. Also true when the set is empty. */
  readonly completed: boolean;
}

/** The state before any source has reported. It is not complete until each of `sources` is. */
export function emptyConfig(sources: readonly string[]): ConfigState {
  return new Map(sources.map((source) => [source, { complete: false, pods: new Map() }]));
}

/** True when every registered source has reported a complete set: only then does a missing pod mean a removed one. */
export function allSourcesComplete(state: ConfigState): boolean {
  return [...state.values()].every((source) => source.complete);
}

/**
 * Merges the pods that a source reports and returns the changes, pod by pod. Pods are identified by UID within their source.
 * A pod that is being deleted is DELETE when the deletion is new, but ADD when the pod itself is new. The arguments are not
 * changed, and the result keeps no reference through which they could be changed.
 *
 * Source: podStorage.merge of k8s.io/kubernetes/pkg/kubelet/config, except that resourceVersion follows the source.
 */
export function merge(state: ConfigState, { source, pods, complete, removed = [] }: SourceSet): MergeResult {
  const before = state.get(source) ?? { complete: false, pods: new Map<string, Pod>() };
  const { kept, dropped } = uniquePods(pods, source);
  const after = new Map<string, Pod>(complete ? [] : before.pods);
  for (const uid of removed) after.delete(uid);
  const updates: PodUpdate[] = [];
  for (const given of kept) {
    const pod = annotate(given, { [CONFIG_SOURCE]: source });
    const change = compare(before.pods.get(pod.metadata.uid), pod);
    after.set(pod.metadata.uid, change.pod);
    if (change.operation !== undefined) updates.push({ operation: change.operation, source, pod: change.pod });
  }
  for (const [uid, pod] of before.pods) {
    if (!after.has(uid)) updates.push({ operation: 'REMOVE', source, pod });
  }
  return {
    state: new Map([...state, [source, { complete: before.complete || complete, pods: after }]]),
    updates: deliveryOrder.flatMap((operation) => updates.filter((update) => update.operation === operation)),
    dropped,
    completed: complete && !before.complete,
  };
}

/** True when a source's pod `b` differs from `a` in a way that requires an UPDATE. */
export function podsDifferSemantically(a: Pod, b: Pod): boolean {
  return !(
    isDeepEqual(a.spec, b.spec) &&
    isDeepEqual(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
    isDeepEqual(a.metadata.deletionTimestamp ?? null, b.metadata.deletionTimestamp ?? null) &&
    a.metadata.deletionGracePeriodSeconds === b.metadata.deletionGracePeriodSeconds &&
    isDeepEqual(ownAnnotations(a), ownAnnotations(b))
  );
}

function compare(existing: Pod | undefined, given: Pod): { pod: Pod; operation?: PodOperation } {
  if (existing === undefined) return { pod: given, operation: 'ADD' };
  if (!podsDifferSemantically(existing, given)) {
    if (isDeepEqual(existing.status, given.status)) return { pod: existing };
    return { pod: { ...existing, status: given.status }, operation: 'RECONCILE' };
  }
  const { labels, deletionTimestamp, deletionGracePeriodSeconds, generation, resourceVersion } = given.metadata;
  const metadata = {
    ...existing.metadata,
    labels,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    resourceVersion,
    annotations: { ...ownAnnotations(given), ...localOf(existing) },
  };
  return {
    pod: { ...existing, metadata, spec: given.spec, status: given.status },
    operation: (deletionTimestamp ?? null) === null ? 'UPDATE' : 'DELETE',
  };
}

/** The first pod of each name and UID, and the others. */
export function uniquePods(pods: readonly Pod[], source: string): { kept: Pod[]; dropped: DroppedPod[] } {
  const names = new Map<string, Pod>();
  const uids = new Map<string, Pod>();
  const kept: Pod[] = [];
  const dropped: DroppedPod[] = [];
  for (const pod of pods) {
    const { name, namespace, uid } = pod.metadata;
    const fullName = `${name}_${namespace}`;
    const [sameName, sameUid] = [names.get(fullName), uids.get(uid)];
    const other = sameName ?? sameUid;
    if (other === undefined) {
      names.set(fullName, pod);
      uids.set(uid, pod);
      kept.push(pod);
    } else {
      const taken = sameName === undefined ? `UID ${JSON.stringify(uid)}` : `name ${JSON.stringify(name)}`;
      const message = `Error validating pod ${fullName}(${uid}) from ${source} due to duplicate pod ${taken}, ignoring`;
      const field = sameName === undefined ? 'metadata.uid' : 'metadata.name';
      dropped.push({ pod, field, other, reason: 'FailedValidation', message });
    }
  }
  return { kept, dropped };
}

function annotate(pod: Pod, annotations: Readonly<Record<string, string>>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}

function ownAnnotations(pod: Pod): Record<string, string> {
  const entries = Object.entries(pod.metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([key]) => !localAnnotations.includes(key)));
}

function localOf(pod: Pod): Record<string, string> {
  const entries = Object.entries(pod.metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([key]) => localAnnotations.includes(key)));
}
