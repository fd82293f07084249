import type { RuntimePod } from '@kubus/contracts';
import { leftovers, mayRun } from '@kubus/pod-lifecycle';
import { KubusError } from '@kubus/ports';
import { removeContainers, removeSandboxes } from './dead-containers.ts';
import { type Pass, RETRY_MS, TRANSIENT_MS, TryAgain, recordEvent } from './pass.ts';
import { KillFailed, asStops, stopContainers, stopSandboxes } from './stop.ts';
import { checkVolumesGone } from './volumes.ts';

/** Stops everything of a pod (kubelet behaviour 1.3, SyncTerminatingPod). Throws when something still runs. */
export async function terminatingPass(pass: Pass): Promise<void> {
  const runtime = await pass.fresh();
  pass.publishStatus();
  await killPod(pass, runtime);
  const after = await pass.fresh();
  pass.publishStatus();
  const running = (after?.containers ?? []).filter(mayRun).map(({ name }) => name);
  if (running.length > 0) {
    throw new TryAgain(`containers still run after they were stopped: ${running.join(', ')}`, TRANSIENT_MS);
  }
}

async function killPod(pass: Pass, runtime: RuntimePod | undefined): Promise<void> {
  const sandboxes = (runtime?.sandboxes ?? []).filter(({ ready }) => ready);
  try {
    await stopContainers(pass, asStops(runtime?.containers), {
      ordered: true,
      graceOverrideSeconds: pass.graceSeconds,
    });
    await stopSandboxes(pass, sandboxes);
  } catch (error) {
    if (!(error instanceof KillFailed)) throw error;
    const message = `error killing pod: ${error.message}`;
    recordEvent(pass, { type: 'Warning', reason: 'FailedKillPod', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/**
 * Takes away what a stopped pod leaves (kubelet behaviour 1.3, SyncTerminatedPod). With `forget` nobody wants the pod any
 * more, so its containers, sandboxes, logs and files go too; without, the last run of each container stays to be looked at
 * (kubelet behaviour 1.9, container GC). Throws until its volumes are gone.
 */
export async function terminatedPass(pass: Pass, forget: boolean): Promise<void> {
  if (forget) await removeAll(pass);
  else await removeOlder(pass);
  const { cgroups, metrics } = pass.deps;
  await metrics.cgroup('destroy', () => cgroups.remove(pass.ref.uid));
}

async function removeOlder(pass: Pass): Promise<void> {
  const { containers, sandboxes } = leftovers(await pass.runtime.fresh(pass.causes), undefined);
  await removeContainers(pass, containers, { logs: false });
  await removeSandboxes(pass, sandboxes);
  checkVolumesGone(pass);
}

async function removeAll(pass: Pass): Promise<void> {
  const runtime = await pass.runtime.fresh(pass.causes);
  // Their logs go with all others of the pod.
  await removeContainers(pass, runtime?.containers ?? [], { logs: true });
  for (const { id, ready } of runtime?.sandboxes ?? []) {
    if (ready) await pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause);
    await pass.runtime.change('RemovePodSandbox', { podSandboxId: id }, pass.runtime.cause);
  }
  if ((await pass.runtime.read()) !== undefined) {
    throw new TryAgain('the runtime still has something of the pod', TRANSIENT_MS);
  }
  checkVolumesGone(pass);
  try {
    await pass.deps.files.remove(pass.ref);
  } catch (error) {
    if (!(error instanceof KubusError && error.code === 'still-mounted')) throw error;
    throw new TryAgain(error.message, TRANSIENT_MS, { cause: error });
  }
}
