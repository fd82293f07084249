import type { RuntimePod } from '@kubus/contracts';
import { isStatic } from '@kubus/pod';
import { leftovers, mayRun } from '@kubus/pod-lifecycle';
import { type ClaimSync, leaveClaims } from '../claims/claims-step.ts';
import { type StopSync, asStops, stopContainers } from '../containers/container-stop.ts';
import { KillFailed } from '../containers/kill-failed.ts';
import { stopSandboxes } from '../sandbox/sandbox-removal.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { RETRY_MS, TRANSIENT_MS, TryAgain } from './errors.ts';
import type { CgroupSync } from './pod-cgroup.ts';
import type { FolderSync } from './pod-folder.ts';
import { type RecordSync, type StatusSync, recordEvent } from './pod-sync.ts';
import type { Leftovers } from './step.ts';
import { steps } from './steps.ts';

/** What {@link syncTerminatingPod} uses. */
export type TerminatingSync = StopSync &
  ClaimSync &
  StatusSync & {
    /** Seconds from SIGTERM to SIGKILL, for every container. */
    readonly graceSeconds: number;
  };

/** Used by {@link syncTerminatedPod} and the steps that it undoes. */
export type TerminatedSync = CgroupSync &
  FolderSync &
  RecordSync &
  Pick<WorkerDeps, 'deadContainers' | 'pastRuns' | 'removesEnded'> & {
    /** The node has ended it for lack of resources. */
    readonly evicted: boolean;
  };

/** Stops all containers and sandboxes of a pod (behaviour:pod-workers, SyncTerminatingPod). Throws when one is still running. */
export async function syncTerminatingPod(sync: TerminatingSync): Promise<void> {
  const runtime = await sync.fresh();
  sync.publishStatus();
  await killPod(sync, runtime);
  const after = await sync.fresh();
  sync.publishStatus();
  const running = (after?.containers ?? []).filter(mayRun).map(({ name }) => name);
  if (running.length > 0) {
    throw new TryAgain(`containers still run after they were stopped: ${running.join(', ')}`, TRANSIENT_MS);
  }
  await leaveClaims(sync);
}

async function killPod(sync: TerminatingSync, runtime: RuntimePod | undefined): Promise<void> {
  const sandboxes = (runtime?.sandboxes ?? []).filter(({ ready }) => ready);
  try {
    await stopContainers(sync, asStops(runtime?.containers), {
      ordered: true,
      graceOverrideSeconds: sync.graceSeconds,
    });
    await stopSandboxes(sync, sandboxes);
  } catch (error) {
    if (!(error instanceof KillFailed)) throw error;
    const message = `error killing pod: ${error.message}`;
    recordEvent(sync, { type: 'Warning', reason: 'FailedKillPod', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/**
 * Cleans up after a stopped pod (behaviour:pod-workers, SyncTerminatedPod): undoes the steps of its start, the last
 * one first. With `forget` no source has the pod, so its containers, sandboxes, logs and files are removed too;
 * without, runs of containers are kept for inspection (behaviour:garbage-collection, container GC), unless the pod was evicted
 * or disk space is short: the status that shows their end is on disk before they are removed. What was being started when the end
 * came may have appeared only after it, and is stopped first. Throws until its volumes are unmounted.
 */
export async function syncTerminatedPod(sync: TerminatedSync & TerminatingSync, forget: boolean): Promise<void> {
  await sync.runtime.fresh(sync.causes);
  if (sync.runtime.mayRun) await syncTerminatingPod(sync);
  const runtime = sync.runtime.pod;
  const left = forget ? everything(runtime) : keptOf(sync, runtime);
  if (forget && sync.pod !== undefined && isStatic(sync.pod)) sync.pastRuns.note(sync.ref, left.containers);
  if (left.logs && left.containers.length > 0) await sync.save();
  for (const step of steps.toReversed()) await step.undo?.(sync, { ...left, forget });
}

function everything(runtime: RuntimePod | undefined): Omit<Leftovers, 'forget'> {
  return { containers: runtime?.containers ?? [], sandboxes: runtime?.sandboxes ?? [], logs: false };
}

function keptOf({ evicted, ...sync }: TerminatedSync, runtime: RuntimePod | undefined): Omit<Leftovers, 'forget'> {
  // They are removed at once, however young they are.
  if (evicted) return { ...everything(runtime), logs: true };
  const removed = leftovers(runtime, undefined, sync.deadContainers(sync.removesEnded() ? 'nothing' : 'limited'));
  return { ...removed, logs: sync.removesEnded() && removed.containers.length === runtime?.containers.length };
}
