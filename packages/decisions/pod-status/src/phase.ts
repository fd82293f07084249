import type { Container, ContainerStatus, Pod } from '@kubus/contracts';
import { isStatic } from '@kubus/pod';
import { isSidecar, restartsAfter } from '@kubus/pod-lifecycle';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** Terminal phases never change again (behaviour:pod-status). */
export function isTerminal(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

export interface PhaseInput {
  readonly pod: Pod;
  readonly init: readonly ContainerStatus[];
  readonly regular: readonly ContainerStatus[];
  /** The pod is being ended, so stopped containers will not start again. Ignored for static pods. */
  readonly ending: boolean;
  /** A regular container was created in the pod's current sandbox. */
  readonly initialized: boolean;
}

/** The phase of a pod according to its containers, whatever its previous phase (behaviour:pod-status). */
export function podPhase({ pod, init, regular, ending, initialized }: PhaseInput): PodPhase {
  const inits = countInits(pod, init);
  const sidecars = countSidecars(pod, init);
  const counts = countRegular(pod, regular);
  if (inits.failed > 0) return 'Failed';
  if (inits.pending > 0 || (sidecars.pending > 0 && !initialized)) return 'Pending';
  if (sidecars.waiting > 0 || counts.waiting > 0) return 'Pending';
  if (counts.unknown > 0 || sidecars.unknown > 0) return 'Pending';
  if (counts.running + sidecars.running > 0) return 'Running';
  if (counts.stopped === 0) return 'Pending';
  if (counts.restartable > 0 && (!ending || isStatic(pod))) return 'Running';
  return counts.succeeded === counts.stopped ? 'Succeeded' : 'Failed';
}

/** A plain init container: `pending` before it has ended once, `failed` when it has failed permanently. */
function countInits(pod: Pod, statuses: readonly ContainerStatus[]): { pending: number; failed: number } {
  const counts = { pending: 0, failed: 0 };
  for (const container of pod.spec.initContainers ?? []) {
    if (isSidecar(container)) continue;
    const exitCode = lastExitCode(statusOf(statuses, container));
    if (exitCode === undefined) counts.pending += 1;
    else if (exitCode !== 0 && !restartsAfter(pod, container, exitCode)) counts.failed += 1;
  }
  return counts;
}

/** Sidecars that have ended are ignored: they neither delay a pod nor keep it running. */
function countSidecars(pod: Pod, statuses: readonly ContainerStatus[]) {
  const counts = { pending: 0, waiting: 0, running: 0, unknown: 0 };
  for (const container of (pod.spec.initContainers ?? []).filter(isSidecar)) {
    const status = statusOf(statuses, container);
    if (status === undefined) counts.unknown += 1;
    else if (status.state?.running !== undefined) {
      counts.running += 1;
      if (status.started !== true) counts.pending += 1;
    } else if (lastExitCode(status) === undefined) {
      counts.pending += 1;
      counts.waiting += 1;
    }
  }
  return counts;
}

/** `stopped` includes those that wait for their next start. */
function countRegular(pod: Pod, statuses: readonly ContainerStatus[]) {
  const counts = { running: 0, waiting: 0, stopped: 0, succeeded: 0, restartable: 0, unknown: 0 };
  for (const container of pod.spec.containers) {
    const status = statusOf(statuses, container);
    const exitCode = lastExitCode(status);
    if (status === undefined) counts.unknown += 1;
    else if (status.state?.running !== undefined) counts.running += 1;
    else if (exitCode === undefined) counts.waiting += 1;
    else {
      counts.stopped += 1;
      if (status.state?.terminated?.exitCode === 0) counts.succeeded += 1;
      if (restartsAfter(pod, container, exitCode)) counts.restartable += 1;
    }
  }
  return counts;
}

function statusOf(statuses: readonly ContainerStatus[], { name }: Container): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}

/** Exit code of a container that has ended, even if it waits to be started again; undefined while it is running. */
function lastExitCode(status: ContainerStatus | undefined): number | undefined {
  if (status === undefined || status.state?.running !== undefined) return undefined;
  return (status.state?.terminated ?? status.lastState?.terminated)?.exitCode;
}
