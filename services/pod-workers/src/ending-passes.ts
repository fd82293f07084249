import { mayRun } from '@kubus/pod-lifecycle';
import { type Pass, TRANSIENT_MS, TryAgain } from './pass.ts';
import { stopContainers, stopSandboxes } from './stop.ts';

/** Stops everything of a pod (kubelet behaviour 1.3, SyncTerminatingPod). Throws when something still runs. */
export async function terminatingPass(pass: Pass): Promise<void> {
  const runtime = await pass.runtime.fresh(pass.causes);
  pass.publishStatus();
  await stopContainers(pass, runtime?.containers ?? []);
  await stopSandboxes(
    pass,
    (runtime?.sandboxes ?? []).filter(({ ready }) => ready),
  );
  const after = await pass.runtime.fresh(pass.causes);
  pass.publishStatus();
  const running = (after?.containers ?? []).filter(mayRun).map(({ name }) => name);
  if (running.length > 0) {
    throw new TryAgain(`containers still run after they were stopped: ${running.join(', ')}`, TRANSIENT_MS);
  }
}

/**
 * Takes away what a stopped pod leaves (kubelet behaviour 1.3, SyncTerminatedPod). With `forget` nobody wants the pod any
 * more, so its containers, sandboxes, logs and files go too; without, they stay to be looked at.
 */
export async function terminatedPass(pass: Pass, forget: boolean): Promise<void> {
  const { files, cgroups } = pass.deps;
  if (forget) {
    const runtime = await pass.runtime.fresh(pass.causes);
    for (const { id } of runtime?.containers ?? []) {
      await pass.runtime.change('RemoveContainer', { containerId: id }, pass.runtime.cause);
    }
    for (const { id, ready } of runtime?.sandboxes ?? []) {
      if (ready) await pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause);
      await pass.runtime.change('RemovePodSandbox', { podSandboxId: id }, pass.runtime.cause);
    }
    if ((await pass.runtime.read()) !== undefined) {
      throw new TryAgain('the runtime still has something of the pod', TRANSIENT_MS);
    }
    await files.remove(pass.ref);
  }
  await cgroups.remove(pass.ref.uid);
}
