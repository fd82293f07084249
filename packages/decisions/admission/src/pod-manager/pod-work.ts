import type { Terms } from './admissions.ts';
import type {
  Pod,
  PodRef,
  PodStatus,
  PodUpdate,
  PodWork,
  PodWorkerReport,
  RuntimePod,
  SourceName,
} from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';
import { NODE_FIELDS, OWNED_CONDITIONS, isTerminal } from '@kubus/pod-status';

/** Everything that is known about one pod UID, each part from its owner; undefined where nothing was published. */
export interface PodView {
  readonly desired: { readonly source: SourceName; readonly update: PodUpdate } | undefined;
  readonly runtime: RuntimePod | undefined;
  readonly worker: PodWorkerReport | undefined;
  /** The current work. */
  readonly work: PodWork | undefined;
  /** Its admission verdict; undefined before admission, and for a pod that is not desired. */
  readonly terms: Terms | undefined;
  /** It was no longer desired at some time, and it may still have local state. */
  readonly ending: boolean;
  /** It was admitted, and others have to end before it is started. */
  readonly waits: boolean;
}

export interface NodeView {
  /** All configured sources are complete: a pod in none of them is not desired. */
  readonly sourcesComplete: boolean;
  /** All pods of the runtime are known. */
  readonly runtimeComplete: boolean;
  /** RFC 3339. */
  readonly now: string;
  /** The new owner of a pod. */
  assign(uid: string): Required<Pick<PodWork, 'worker' | 'term'>>;
  /** Another static pod of the same namespace and name that is not finished yet, if there is one. */
  blocker(pod: Pod): PodRef | undefined;
}

/**
 * The work that a pod's state requires; `undefined` when there is nothing to do, or nothing to do yet. A function of
 * the current state alone, so that it does not matter which messages led to it or how often they were received.
 */
export function podWork(view: PodView, node: NodeView): PodWork | undefined {
  const { desired, work, worker } = view;
  const gone = worker?.state === 'finished';
  if (desired !== undefined) {
    // When its worker has finished, it may start again (behaviour:pod-workers).
    if (isBeingEnded(view)) return work?.work === 'kill' ? assigned(work, node) : unwanted(view, node);
    return wanted(desired.source, desired.update.pod, view, node);
  }
  // Nothing is ended before every source is complete (rule:latest-wins).
  if (!node.sourcesComplete) return work && assigned(work, node);
  if (gone) return undefined;
  if (work !== undefined) {
    return { ...assigned(work, node), work: 'kill', reason: 'the pod is no longer in its source' };
  }
  return unwanted(view, node);
}

function wanted(source: SourceName, pod: Pod, view: PodView, node: NodeView): PodWork | undefined {
  const { terms, work } = view;
  if (terms === undefined || isBlocked(view, node) || (view.waits && work === undefined)) return undefined;
  const { uid, name, namespace } = pod.metadata;
  return {
    ref: { uid, name, namespace },
    source,
    reason: terms.failure?.reason ?? 'desired',
    ...node.assign(uid),
    firstSeen: work?.firstSeen ?? node.now,
    ...terms,
  };
}

/** A UID that is being ended is ended first, even if it is desired again, and even if an earlier epoch decided so. */
export function isBeingEnded(view: PodView): boolean {
  if (view.worker?.state === 'finished') return false;
  return view.work?.work === 'kill' || (view.ending && hasLocalState(view));
}

/** The pod has local state: it was admitted before. */
export function hasLocalState({ runtime, worker }: PodView): boolean {
  return runtime !== undefined || (worker !== undefined && worker.state !== 'finished');
}

/** A static pod that has not been started waits for the end of another one with its name (behaviour:pod-workers). */
export function isBlocked({ desired, work, worker }: PodView, node: NodeView): boolean {
  if (desired === undefined || work !== undefined || worker !== undefined || !isStaticSource(desired.source))
    return false;
  return node.blocker(desired.update.pod) !== undefined;
}

/** The same work, assigned to the pod's current owner. */
function assigned(work: PodWork, node: NodeView): PodWork {
  return { ...work, ...node.assign(work.ref.uid) };
}

/** Work that ends a pod which is not desired and still has a worker or pod state. */
function unwanted(view: PodView, node: NodeView): PodWork | undefined {
  if (!node.sourcesComplete) return undefined;
  const ref = view.worker?.ref ?? (node.runtimeComplete ? view.runtime?.ref : undefined);
  if (ref === undefined) return undefined;
  return {
    ref,
    source: 'runtime',
    work: 'kill',
    reason: 'the pod is not desired by any source',
    ...node.assign(ref.uid),
    firstSeen: node.now,
  };
}

/** Static pods come from files and URLs: their sources cannot wait for the end of an older pod of the same name. */
export function isStaticSource(source: SourceName): boolean {
  return source !== 'api';
}

/**
 * Whether two works require the same, so that nothing has to be published again. The node's own writes to the pod's
 * status do not count: otherwise each of them would cause a sync.
 */
export function sameWork(a: PodWork | undefined, b: PodWork | undefined): boolean {
  return a === b || isDeepEqual(a && asked(a), b && asked(b));
}

/** The work without anything that only changes in the API server's copy of the pod. */
function asked({ pod, ...work }: PodWork): unknown {
  if (pod === undefined) return work;
  const { resourceVersion: _, ...metadata } = pod.metadata;
  return { ...work, pod: { ...pod, metadata, status: pod.status && foreignStatus(pod.status) } };
}

/** What others have written, such as readiness gates, and whether the phase is terminal. */
function foreignStatus(status: PodStatus): unknown {
  const foreign = Object.entries(status).filter(([field]) => !NODE_FIELDS.some((own) => own === field));
  const conditions = status.conditions?.filter(({ type }) => !OWNED_CONDITIONS.includes(type));
  return { ...Object.fromEntries(foreign), conditions, over: isTerminal(status.phase) };
}
