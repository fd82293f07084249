import type { Pod, PodStatus } from '@kubus/contracts';
import { Distribution } from '@kubus/metrics';

/** Bounds of the reference, in seconds. */
const START_BUCKETS = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
];

/** Volumes with which a pod still counts as one without state (the SLI's definition). */
const STATELESS = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'] as const;

interface Starting {
  /** Of the pull that goes on, milliseconds since the Unix epoch. */
  pullingSince?: number;
  pullMs: number;
}

/**
 * How long pods take from their creation until the API server tells that all their containers run, as the reference measures
 * it (kubelet behaviour 6.1, pod startup SLI). Times are in milliseconds since the Unix epoch.
 */
export class PodStartups {
  readonly total = new Distribution(START_BUCKETS, {});
  /** Without what pulls and init containers took; of pods without state. */
  readonly sli = new Distribution(START_BUCKETS, {});
  readonly #starting = new Map<string, Starting>();
  #firstWithNetwork = 0;

  /** The SLI of the first pod with a network of its own, in seconds; 0: there was none. */
  get firstWithNetwork(): number {
    return this.#firstWithNetwork;
  }

  /** The API server has the pod so. Pods count that are new, and that the scheduler has placed at once. */
  heard(pod: Pod, now: number): void {
    const { uid, creationTimestamp } = pod.metadata;
    const { status = {} } = pod;
    const isOver = status.phase === 'Failed' || status.phase === 'Succeeded';
    if (isOver || isUnschedulable(status)) {
      this.#starting.delete(uid);
      return;
    }
    const starting = this.#starting.get(uid);
    if (starting === undefined) {
      if (status.startTime === undefined) this.#starting.set(uid, { pullMs: 0 });
      return;
    }
    if (!allRun(status) || creationTimestamp === undefined || creationTimestamp === null) return;
    this.#starting.delete(uid);
    const wholeMs = Math.max(0, now - Date.parse(creationTimestamp));
    this.total.observe({}, wholeMs / 1000);
    if (hasState(pod)) return;
    const sli = Math.max(0, wholeMs - starting.pullMs - initMs(status)) / 1000;
    this.sli.observe({}, sli);
    if (pod.spec.hostNetwork !== true && this.#firstWithNetwork === 0) this.#firstWithNetwork = sli;
  }

  /** An image of the pod begins to be pulled. */
  pulling(uid: string, now: number): void {
    const starting = this.#starting.get(uid);
    if (starting !== undefined) starting.pullingSince ??= now;
  }

  /** An image of the pod is there, or could not be pulled. */
  pulled(uid: string, now: number): void {
    const starting = this.#starting.get(uid);
    if (starting?.pullingSince === undefined) return;
    starting.pullMs += now - starting.pullingSince;
    delete starting.pullingSince;
  }

  gone(uid: string): void {
    this.#starting.delete(uid);
  }
}

function isUnschedulable({ conditions = [] }: PodStatus): boolean {
  return conditions.some(({ type, status }) => type === 'PodScheduled' && status === 'False');
}

function allRun({ containerStatuses = [] }: PodStatus): boolean {
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => isTime(state?.running?.startedAt));
}

function isTime(text: string | null | undefined): text is string {
  return text !== undefined && text !== null;
}

/** How long the init containers have run. */
function initMs({ initContainerStatuses = [] }: PodStatus): number {
  return initContainerStatuses.reduce((sum, { state }) => {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    return isTime(startedAt) && isTime(finishedAt) ? sum + Date.parse(finishedAt) - Date.parse(startedAt) : sum;
  }, 0);
}

function hasState({ spec: { volumes = [] } }: Pod): boolean {
  return volumes.some((volume) => STATELESS.every((kind) => volume[kind] === undefined));
}
