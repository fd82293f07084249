import type { Pod, PodStatus } from '@kubus/contracts';
import { Distribution } from '@kubus/metrics';

/** Buckets of the reference, in seconds. */
const START_BUCKETS = [
  ...[0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
];

/** Volumes with which a pod still counts as stateless (the SLI's definition). */
const STATELESS = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'] as const;

interface Starting {
  /** Start of the running pull, in milliseconds since the Unix epoch. */
  pullingSince?: number;
  pullMs: number;
}

/**
 * Time from a pod's creation until the API server shows all its containers as running, as the reference measures it
 * (behaviour:agent-metrics, pod startup SLI). Times are in milliseconds since the Unix epoch.
 */
export class PodStartups {
  readonly total = new Distribution(START_BUCKETS, {});
  /** Without the time of pulls and init containers; of stateless pods. */
  readonly sli = new Distribution(START_BUCKETS, {});
  readonly #starting = new Map<string, Starting>();
  #firstWithNetwork = 0;

  /** The SLI of the first pod with a network of its own, in seconds; 0: there was none. */
  get firstWithNetwork(): number {
    return this.#firstWithNetwork;
  }

  /** Takes the API server's version of the pod. Only new pods that the scheduler has placed at once are counted. */
  reported(pod: Pod, now: number): void {
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

  /** A pull of an image of the pod starts. */
  pulling(uid: string, now: number): void {
    const starting = this.#starting.get(uid);
    if (starting !== undefined) starting.pullingSince ??= now;
  }

  /** A pull of an image of the pod has ended. */
  pulled(uid: string, now: number): void {
    const starting = this.#starting.get(uid);
    if (starting?.pullingSince === undefined) return;
    starting.pullMs += now - starting.pullingSince;
    delete starting.pullingSince;
  }

  deleted(uid: string): void {
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

/** How long the init containers ran, in milliseconds. */
function initMs({ initContainerStatuses = [] }: PodStatus): number {
  return initContainerStatuses.reduce((sum, { state }) => {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    return isTime(startedAt) && isTime(finishedAt) ? sum + Date.parse(finishedAt) - Date.parse(startedAt) : sum;
  }, 0);
}

function hasState({ spec: { volumes = [] } }: Pod): boolean {
  return volumes.some((volume) => STATELESS.every((kind) => volume[kind] === undefined));
}
