import type { Pod, PodWork, WorkerState } from '@kubus/contracts';
import { isSet } from './restart.ts';

/** Where a pod's worker stands. Kept in its record, so that a restarted worker goes on instead of starting anew. */
export interface WorkerMachine {
  readonly state: WorkerState;
  /** Seconds that containers have to end; only ever smaller. Set from `terminating` on. */
  readonly graceSeconds: number | undefined;
  /** Why the pod is being ended. */
  readonly reason: string | undefined;
  /** True when its source does not want the pod any more: then what is left of it is removed too. */
  readonly forget: boolean;
}

export const initialMachine: WorkerMachine = {
  state: 'syncing',
  graceSeconds: undefined,
  reason: undefined,
  forget: false,
};

export type WorkerInput =
  /**
   * The work to do changed. `idle`: the runtime has been read, and nothing of the pod can be running. A pod that is over
   * by its phase or not wanted any more then has nothing to be ended, only to be cleaned up.
   */
  | { readonly kind: 'work'; readonly work: PodWork; readonly idle?: boolean | undefined }
  /**
   * A pass of the present state ended without anything left to do. `terminal`: the pod has run its course.
   * `graceSeconds`: what still runs has so long to end.
   */
  | { readonly kind: 'passed'; readonly terminal: boolean; readonly graceSeconds?: number | undefined };

/**
 * The state machine of one pod UID (kubelet behaviour 1.3): sync, terminating, terminated, finished; never backwards.
 */
export function stepWorker(machine: WorkerMachine, input: WorkerInput): WorkerMachine {
  return input.kind === 'work' ? onWork(machine, input.work, input.idle === true) : onPassed(machine, input);
}

function onWork(machine: WorkerMachine, work: PodWork, idle: boolean): WorkerMachine {
  const ending = endReason(work);
  if (ending === undefined) return machine;
  const grace = gracePeriod(work.pod, work.graceSeconds);
  const forget = machine.forget || work.work === 'kill';
  if (machine.state === 'syncing') {
    // For a pod that was rejected nothing has been made.
    const over = work.work === 'reject' || (idle && (work.work === 'kill' || isOver(work.pod)));
    return { state: over ? 'terminated' : 'terminating', graceSeconds: grace, reason: ending, forget };
  }
  const graceSeconds = machine.graceSeconds === undefined ? grace : Math.min(machine.graceSeconds, grace);
  return { ...machine, graceSeconds, forget };
}

function onPassed(machine: WorkerMachine, input: Extract<WorkerInput, { kind: 'passed' }>): WorkerMachine {
  const { terminal, graceSeconds } = input;
  switch (machine.state) {
    case 'syncing':
      return terminal
        ? { ...machine, state: 'terminating', graceSeconds, reason: 'the pod has run its course' }
        : machine;
    case 'terminating':
      return { ...machine, state: 'terminated' };
    case 'terminated':
      return machine.forget ? { ...machine, state: 'finished' } : machine;
    case 'finished':
      return machine;
  }
}

function endReason(work: PodWork): string | undefined {
  if (work.work !== 'sync') return work.reason;
  if (isSet(work.pod?.metadata.deletionTimestamp)) return 'the pod is being deleted';
  if (isOver(work.pod)) return `the pod has ${work.pod?.status?.phase?.toLowerCase() ?? 'ended'}`;
  return undefined;
}

function isOver(pod: Pod | undefined): boolean {
  return pod?.status?.phase === 'Failed' || pod?.status?.phase === 'Succeeded';
}

/** Grace of a pod without a spec: one that only the runtime knows (kubelet behaviour 1.3, orphans). */
const ORPHAN_SECONDS = 1;
/** The least that a pod gets (kubelet behaviour 1.3, grace period). */
const LEAST_SECONDS = 1;

/** Seconds between TERM and KILL for a pod that is being ended. */
export function gracePeriod(pod: Pod | undefined, overrideSeconds: number | undefined): number {
  if (pod === undefined) return Math.max(LEAST_SECONDS, overrideSeconds ?? ORPHAN_SECONDS);
  const own = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  return Math.max(LEAST_SECONDS, overrideSeconds === undefined ? own : Math.min(own, overrideSeconds));
}

/** What others may conclude from where a worker stands (kubelet behaviour 1.3, derived questions). */
export interface WorkerAnswers {
  /** Containers of the pod should be ending, so none may be started for it. */
  readonly containersEnding: boolean;
  readonly mayHaveRunningContainers: boolean;
  /** Its sandboxes and containers may be collected. */
  readonly runtimeRemovable: boolean;
  /** Its volumes, files and cgroup may be removed: it is over and its source does not want it any more. */
  readonly contentRemovable: boolean;
}

/** Answers for one pod; a pod without a worker, once all workers are known, is as one that is finished. */
export function workerAnswers({ state, forget }: Pick<WorkerMachine, 'state' | 'forget'>): WorkerAnswers {
  const stopped = state === 'terminated' || state === 'finished';
  return {
    containersEnding: state !== 'syncing',
    mayHaveRunningContainers: !stopped,
    runtimeRemovable: stopped,
    contentRemovable: state === 'finished' || (stopped && forget),
  };
}

/**
 * Milliseconds that someone who had a pod killed (eviction, preemption, node shutdown) waits for its end, before the event
 * `ExceededGracePeriod` (kubelet behaviour 1.3, killPodNow).
 */
export function killTimeoutMs(graceSeconds: number): number {
  return Math.max(10_000, graceSeconds * 1_500);
}
