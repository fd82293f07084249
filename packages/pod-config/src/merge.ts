import {
  CONFIG_MIRROR,
  CONFIG_SEEN,
  CONFIG_SOURCE,
  type Pod,
  type PodOperation,
  type PodUpdate,
} from '@kubus/contracts';
import { sameJson } from './equality.ts';

/** Annotations that the node itself keeps; they are no part of what a source says about a pod. */
const localAnnotations: readonly string[] = [CONFIG_SOURCE, CONFIG_MIRROR, CONFIG_SEEN];

/** In this order the changes of one merge are handed on: what goes makes room for what comes. */
const deliveryOrder: readonly PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];

export interface SourceState {
  /** It has said at least once what its whole set is. */
  readonly complete: boolean;
  /** By UID. */
  readonly pods: ReadonlyMap<string, Pod>;
}

/** What every registered source wants, by the source's name. */
export type ConfigState = ReadonlyMap<string, SourceState>;

export interface SourceSet {
  readonly source: string;
  readonly pods: readonly Pod[];
  /** True: these are all pods of the source, and others of it are gone. False: only these have changed. */
  readonly complete: boolean;
  /** UIDs of pods that are gone, unless `pods` has them. */
  readonly removed?: readonly string[] | undefined;
}

/** A pod that was left out because another one of its source has its name or UID. */
export interface DroppedPod {
  readonly pod: Pod;
  /** Of the event that tells about it. */
  readonly reason: 'FailedValidation';
  readonly message: string;
}

export interface MergeResult {
  readonly state: ConfigState;
  /** At most one for each pod, in delivery order. */
  readonly updates: readonly PodUpdate[];
  readonly dropped: readonly DroppedPod[];
  /** With this set the source has become complete. Says so even when the set is empty. */
  readonly completed: boolean;
}

/** Before any source has spoken. Nothing is ready until each of `sources` is complete. */
export function emptyConfig(sources: readonly string[]): ConfigState {
  return new Map(sources.map((source) => [source, { complete: false, pods: new Map() }]));
}

/** True when every registered source has said what its whole set is: only then is a missing pod a removed one. */
export function allSourcesComplete(state: ConfigState): boolean {
  return [...state.values()].every((source) => source.complete);
}

/**
 * Takes in what a source says and tells what changed, pod by pod. Pods are told apart by UID within their source.
 * A pod whose deletion is under way is DELETE when that is new, but ADD when the pod itself is. Nothing that was given
 * in is changed or kept by reference where it would be.
 *
 * Source: podStorage.merge of k8s.io/kubernetes/pkg/kubelet/config, except that resourceVersion follows the source.
 */
export function merge(state: ConfigState, { source, pods, complete, removed = [] }: SourceSet): MergeResult {
  const before = state.get(source) ?? { complete: false, pods: new Map<string, Pod>() };
  const { kept, dropped } = withoutDuplicates(pods, source);
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

/** True when a source means something else by `b` than by `a`: the difference that makes an UPDATE. */
export function podsDifferSemantically(a: Pod, b: Pod): boolean {
  return !(
    sameJson(a.spec, b.spec) &&
    sameJson(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
    sameJson(a.metadata.deletionTimestamp ?? null, b.metadata.deletionTimestamp ?? null) &&
    a.metadata.deletionGracePeriodSeconds === b.metadata.deletionGracePeriodSeconds &&
    sameJson(ownAnnotations(a), ownAnnotations(b))
  );
}

function compare(existing: Pod | undefined, given: Pod): { pod: Pod; operation?: PodOperation } {
  if (existing === undefined) return { pod: given, operation: 'ADD' };
  if (!podsDifferSemantically(existing, given)) {
    if (sameJson(existing.status, given.status)) return { pod: existing };
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

function withoutDuplicates(pods: readonly Pod[], source: string): { kept: Pod[]; dropped: DroppedPod[] } {
  const names = new Set<string>();
  const uids = new Set<string>();
  const kept: Pod[] = [];
  const dropped: DroppedPod[] = [];
  for (const pod of pods) {
    const { name, namespace, uid } = pod.metadata;
    const fullName = `${name}_${namespace}`;
    const taken = names.has(fullName)
      ? `name ${JSON.stringify(name)}`
      : uids.has(uid)
        ? `UID ${JSON.stringify(uid)}`
        : '';
    if (taken === '') {
      names.add(fullName);
      uids.add(uid);
      kept.push(pod);
    } else {
      const message = `Error validating pod ${fullName}(${uid}) from ${source} due to duplicate pod ${taken}, ignoring`;
      dropped.push({ pod, reason: 'FailedValidation', message });
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
