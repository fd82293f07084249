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
import { OWNED_CONDITIONS, isTerminal } from '@kubus/pod-status';
import { NODE_FIELDS } from '@kubus/status-patch';

/** Everything that is known of one pod UID, each part from its owner; missing where nobody says anything. */
export interface PodView {
  readonly desired: { readonly source: SourceName; readonly update: PodUpdate } | undefined;
  readonly runtime: RuntimePod | undefined;
  readonly worker: PodWorkerReport | undefined;
  /** The work as it stands. */
  readonly work: PodWork | undefined;
  /** What was decided about its admission; undefined before that, and for a pod that no source wants. */
  readonly terms: Terms | undefined;
  /** It was not wanted any more, and something of it may still be on the node. */
  readonly ending: boolean;
  /** It was admitted, and others have to end before it is started. */
  readonly waits: boolean;
}

export interface NodeView {
  /** The sets of all configured sources are complete: what is in none of them is not wanted. */
  readonly sourcesComplete: boolean;
  /** The runtime's pods are all known. */
  readonly runtimeComplete: boolean;
  /** RFC 3339. */
  readonly now: string;
  /** Who has a pod from now on. */
  assign(uid: string): Required<Pick<PodWork, 'worker' | 'term'>>;
  /** Another static pod of the same namespace and name that is not finished yet, if there is one. */
  blocker(pod: Pod): PodRef | undefined;
}

/**
 * The work that a pod's state calls for; `undefined` when there is nothing to do, or nothing to do yet. A function of
 * the present state alone, so that it does not matter which messages led to it or how often they came.
 */
export function podWork(view: PodView, node: NodeView): PodWork | undefined {
  const { desired, work, worker } = view;
  const gone = worker?.state === 'finished';
  if (desired !== undefined) {
    // When its worker is through, it may start anew (kubelet behaviour 1.3).
    if (isBeingEnded(view)) return work?.work === 'kill' ? assigned(work, node) : unwanted(view, node);
    return wanted(desired.source, desired.update.pod, view, node);
  }
  // Nothing is ended before every source has said what it wants (DESIGN rule 3).
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

/** A UID that is being ended is ended first, though it is wanted again, and though the end was decided in an earlier life. */
export function isBeingEnded(view: PodView): boolean {
  if (view.worker?.state === 'finished') return false;
  return view.work?.work === 'kill' || (view.ending && isThere(view));
}

/** Something of the pod is on the node: it was taken before. */
export function isThere({ runtime, worker }: PodView): boolean {
  return runtime !== undefined || (worker !== undefined && worker.state !== 'finished');
}

/** A static pod of which nothing has been begun waits for the end of another one of its name (kubelet behaviour 1.3). */
export function isBlocked({ desired, work, worker }: PodView, node: NodeView): boolean {
  if (desired === undefined || work !== undefined || worker !== undefined || !isStatic(desired.source)) return false;
  return node.blocker(desired.update.pod) !== undefined;
}

/** The work as it is, with whoever has the pod now. */
function assigned(work: PodWork, node: NodeView): PodWork {
  return { ...work, ...node.assign(work.ref.uid) };
}

/** A pod that is to end and that this life does not know: its worker, or the runtime, still has something of it. */
function unwanted(view: PodView, node: NodeView): PodWork | undefined {
  if (!node.sourcesComplete) return undefined;
  const ref = view.worker?.ref ?? (node.runtimeComplete ? view.runtime?.ref : undefined);
  if (ref === undefined) return undefined;
  return {
    ref,
    source: 'runtime',
    work: 'kill',
    reason: 'the pod is in no source',
    ...node.assign(ref.uid),
    firstSeen: node.now,
  };
}

/** Static pods come from files and URLs: their sources can not wait for the end of an older pod of the same name. */
export function isStatic(source: SourceName): boolean {
  return source !== 'api';
}

/**
 * Whether two works ask for the same, so that nothing has to be told anew. What the node itself has had written into the
 * status of a pod asks for nothing: each write of a status would else be a look at the pod.
 */
export function sameWork(a: PodWork | undefined, b: PodWork | undefined): boolean {
  return a === b || JSON.stringify(a && asked(a)) === JSON.stringify(b && asked(b));
}

/** The work without what only the API server's copy of the pod changes by. */
function asked({ pod, ...work }: PodWork): unknown {
  if (pod === undefined) return work;
  const { resourceVersion: _, ...metadata } = pod.metadata;
  return { ...work, pod: { ...pod, metadata, status: pod.status && foreignStatus(pod.status) } };
}

/** What others have written, such as readiness gates; and that the pod is over, whoever has. */
function foreignStatus(status: PodStatus): unknown {
  const foreign = Object.entries(status).filter(([field]) => !NODE_FIELDS.some((own) => own === field));
  const conditions = status.conditions?.filter(({ type }) => !OWNED_CONDITIONS.includes(type));
  return { ...Object.fromEntries(foreign), conditions, over: isTerminal(status.phase) };
}
