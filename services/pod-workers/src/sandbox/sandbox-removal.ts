import type { RuntimeSandbox } from '@kubus/contracts';
import { orKillFailed } from '../containers/kill-failed.ts';
import { TRANSIENT_MS, TryAgain } from '../sync/errors.ts';
import { type PodSync, unlessCancelled } from '../sync/pod-sync.ts';

/** Stops sandboxes: their network is removed, and all processes in them end. Throws a KillFailed. */
export async function stopSandboxes(sync: PodSync, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  const { runtime, ref } = sync;
  for (const { id } of sandboxes) {
    const stopped = runtime.change('StopPodSandbox', { podSandboxId: id }, runtime.cause);
    await orKillFailed(unlessCancelled(sync, stopped), 'KillPodSandbox', ref.uid);
  }
}

/** Removes sandboxes. They are stopped first, including those that are not ready: their network may still exist. */
export async function removeSandboxes({ runtime }: PodSync, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id } of sandboxes) {
    await runtime.change('StopPodSandbox', { podSandboxId: id }, runtime.cause);
    await runtime.change('RemovePodSandbox', { podSandboxId: id }, runtime.cause);
  }
}

/** Removes all sandboxes of a pod. Throws a TryAgain when the runtime still lists something of the pod. */
export async function removeAllSandboxes({ runtime }: PodSync, sandboxes: readonly RuntimeSandbox[]): Promise<void> {
  for (const { id, ready } of sandboxes) {
    if (ready) await runtime.change('StopPodSandbox', { podSandboxId: id }, runtime.cause);
    await runtime.change('RemovePodSandbox', { podSandboxId: id }, runtime.cause);
  }
  if ((await runtime.read()) !== undefined) {
    throw new TryAgain('the runtime still lists sandboxes or containers of the pod', TRANSIENT_MS);
  }
}
