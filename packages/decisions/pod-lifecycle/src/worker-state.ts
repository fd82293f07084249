import type { Pod, PodWork, WorkerState } from '@kubus/contracts';
import { isSet } from './restart.ts';

/** The state of a pod's worker. Kept in its record, so that a restarted worker continues. */
export interface WorkerMachine {
  readonly state: WorkerState;
  /** Grace period in seconds; it can only decrease. Set from `terminating` on. */
  readonly graceSeconds: number | undefined;
  /** Why the pod is being ended. */
  readonly reason: string | undefined;
  /** True when the pod is no longer desired: then its local state is removed too. */
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
   * The work has changed. `idle`: the runtime has been read, and nothing of the pod can be running. A pod that has
   * ended by its phase or is no longer desired then has nothing to stop, only to clean up.
   */
  | { readonly kind: 'work'; readonly work: PodWork; readonly idle?: boolean | undefined }
  /**
   * A sync in the current state had nothing left to do. `terminal`: the pod has ended by itself. `graceSeconds`: the
   * grace period of what is still running.
   */
  | { readonly kind: 'synced'; readonly terminal: boolean; readonly graceSeconds?: number | undefined };

/**
 * The state machine of one pod UID (behaviour:pod-workers): sync, terminating, terminated, finished; never backwards.
 */
export function stepWorker(machine: WorkerMachine, input: WorkerInput): WorkerMachine {
  return input.kind === 'work' ? onWork(machine, input.work, input.idle === true) : onSynced(machine, input);
}

function onWork(machine: WorkerMachine, work: PodWork, idle: boolean): WorkerMachine {
  const ending = endReason(work);
  if (ending === undefined) return machine;
  const grace = gracePeriod(work.pod, work.graceSeconds);
  const forget = machine.forget || work.work === 'kill';
  if (machine.state === 'syncing') {
    // A rejected pod has no local state.
    const over = work.work === 'reject' || (idle && (work.work === 'kill' || isOver(work.pod)));
    return { state: over ? 'terminated' : 'terminating', graceSeconds: grace, reason: ending, forget };
  }
  const graceSeconds = machine.graceSeconds === undefined ? grace : Math.min(machine.graceSeconds, grace);
  return { ...machine, graceSeconds, forget };
}

function onSynced(machine: WorkerMachine, input: Extract<WorkerInput, { kind: 'synced' }>): WorkerMachine {
  const { terminal, graceSeconds } = input;
  switch (machine.state) {
    case 'syncing':
      return terminal
        ? { ...machine, state: 'terminating', graceSeconds, reason: 'the pod has ended by itself' }
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

/**
 * Grace period in seconds of a pod without a spec: one that only the runtime knows (behaviour:pod-workers, orphans).
 */
const ORPHAN_SECONDS = 1;
/** The minimum grace period in seconds (behaviour:pod-workers, grace period). */
const LEAST_SECONDS = 1;

/** Seconds between SIGTERM and SIGKILL for a pod that is being ended. */
export function gracePeriod(pod: Pod | undefined, overrideSeconds: number | undefined): number {
  if (pod === undefined) return Math.max(LEAST_SECONDS, overrideSeconds ?? ORPHAN_SECONDS);
  const own = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  return Math.max(LEAST_SECONDS, overrideSeconds === undefined ? own : Math.min(own, overrideSeconds));
}

/**
 * Milliseconds that an eviction, a preemption or a node shutdown waits for the end of a pod before the event
 * `ExceededGracePeriod` (behaviour:pod-workers, killPodNow).
 */
export function killTimeoutMs(graceSeconds: number): number {
  return Math.max(10_000, graceSeconds * 1_500);
}
