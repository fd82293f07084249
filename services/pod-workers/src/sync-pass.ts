import { CommandFailed } from '@kubus/bus';
import type { Pod } from '@kubus/contracts';
import { sandboxConfig } from '@kubus/container-config';
import { type PodActions, podActions, unsupportedFields } from '@kubus/pod-lifecycle';
import { isTerminal, qosClass } from '@kubus/pod-status';
import { type SandboxInUse, StartFailed, startContainer } from './container-start.ts';
import { NodeNotReady, type Pass, RETRY_MS, TRANSIENT_MS, TryAgain, checkCancelled, recordEvent } from './pass.ts';
import { stopContainers, stopSandboxes } from './stop.ts';

/**
 * Makes a pod what its spec says (kubelet behaviour 1.3, SyncPod). Returns true when the pod has run its course.
 * Throws {@link TryAgain} when something is still missing.
 */
export async function syncPass(pass: Pass, pod: Pod): Promise<boolean> {
  checkSupported(pass, pod);
  checkRuntime(pass);
  const runtime = await pass.runtime.fresh(pass.causes);
  if (isTerminal(pass.publishStatus())) return true;
  const actions = podActions(pod, runtime);
  checkNetwork(pass, pod, actions);
  checkCancelled(pass);
  if (actions.killPod) {
    await stopContainers(pass, runtime?.containers ?? []);
    await stopSandboxes(pass, runtime?.sandboxes ?? []);
  } else {
    for (const { container, message } of actions.stop) await stopContainers(pass, [container], message);
  }
  await removeLeftovers(pass, actions);
  const sandbox = await ensureSandbox(pass, pod, actions);
  if (sandbox !== undefined) await startContainers(pass, pod, sandbox, actions);
  await pass.runtime.fresh(pass.causes);
  return isTerminal(pass.publishStatus());
}

/** What this version does not do is refused as a whole; the user learns which fields are the reason. */
function checkSupported(pass: Pass, pod: Pod): void {
  const fields = unsupportedFields(pod);
  if (fields.length === 0) return;
  const message = `this version of Kubus does not support: ${fields.join(', ')}`;
  for (const { name } of pod.spec.containers) {
    if (pass.waiting.has(name)) continue;
    pass.waiting.set(name, { reason: 'Unsupported', message });
    recordEvent(pass, { type: 'Warning', reason: 'Unsupported', message, container: { name } });
  }
  pass.publishStatus();
  throw new TryAgain(message, RETRY_MS);
}

function checkRuntime(pass: Pass): void {
  const condition = pass.deps.runtime();
  if (condition?.ready === true) return;
  pass.publishStatus();
  throw new NodeNotReady(
    `the container runtime is not ready: ${condition?.message ?? 'not heard of yet'}`,
    TRANSIENT_MS,
  );
}

/** A pod without the host's network needs the network before its sandbox (kubelet behaviour 1.3, step 5). */
function checkNetwork(pass: Pass, pod: Pod, actions: PodActions): void {
  if (pod.spec.hostNetwork === true || actions.createSandbox === undefined) return;
  const runtime = pass.deps.runtime();
  const network = pass.deps.network();
  const own = runtime?.network === 'cni-bridge';
  const ready = own ? network?.ready === true : runtime?.networkReady === true;
  if (ready) return;
  const detail = (own ? network?.message : runtime?.networkMessage) ?? 'not heard of yet';
  const message = `network is not ready: ${detail}`;
  recordEvent(pass, { type: 'Warning', reason: 'NetworkNotReady', message });
  throw new NodeNotReady(message, TRANSIENT_MS);
}

async function removeLeftovers(pass: Pass, { remove }: PodActions): Promise<void> {
  for (const { id } of remove.containers) {
    await pass.runtime.change('RemoveContainer', { containerId: id }, pass.runtime.cause);
  }
  for (const { id } of remove.sandboxes) {
    await pass.runtime.change('StopPodSandbox', { podSandboxId: id }, pass.runtime.cause);
    await pass.runtime.change('RemovePodSandbox', { podSandboxId: id }, pass.runtime.cause);
  }
}

async function ensureSandbox(pass: Pass, pod: Pod, actions: PodActions): Promise<SandboxInUse | undefined> {
  const { files, cgroups } = pass.deps;
  const config = (attempt: number) =>
    sandboxConfig(pod, {
      attempt,
      logDirectory: files.logFolder(pass.ref),
      cgroupParent: cgroups.parent(pass.ref.uid, qosClass(pod)),
    });
  if (actions.sandbox !== undefined) return { id: actions.sandbox.id, config: config(actions.sandbox.attempt) };
  if (actions.createSandbox === undefined) return undefined;
  const { attempt, replaces } = actions.createSandbox;
  if (replaces) {
    const message = 'Pod sandbox changed, it will be killed and re-created.';
    recordEvent(pass, { type: 'Normal', reason: 'SandboxChanged', message });
  }
  checkCancelled(pass);
  try {
    const made = await pass.runtime.change('RunPodSandbox', { config: config(attempt) }, [
      ...pass.runtime.cause,
      ...pass.causes,
    ]);
    return { id: made.podSandboxId ?? '', config: config(attempt) };
  } catch (error) {
    if (error instanceof CommandFailed && error.code !== 'Unavailable') {
      const message = `Failed to create pod sandbox: ${error.message}`;
      recordEvent(pass, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
      throw new TryAgain(message, RETRY_MS, { cause: error });
    }
    throw error;
  }
}

/** Containers are started one after another; one that can not start does not keep the others from it. */
async function startContainers(pass: Pass, pod: Pod, sandbox: SandboxInUse, { start }: PodActions): Promise<void> {
  let failed: StartFailed | undefined;
  for (const one of start) {
    checkCancelled(pass);
    try {
      await startContainer(pass, pod, sandbox, one);
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error;
      if (failed?.waitMs === undefined || (error.waitMs ?? RETRY_MS) < failed.waitMs) failed = error;
    }
  }
  if (failed === undefined) return;
  await pass.runtime.fresh(pass.causes);
  pass.publishStatus();
  throw new TryAgain(failed.message, failed.waitMs ?? RETRY_MS, { cause: failed });
}
