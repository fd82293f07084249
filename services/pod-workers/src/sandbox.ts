import { SandboxConfigError, dnsConfig, sandboxConfig } from '@kubus/container-config';
import { type Pod, type RuntimeSandbox, rpcErrorText } from '@kubus/contracts';
import type { PodActions } from '@kubus/pod-lifecycle';
import { qosClass } from '@kubus/pod-status';
import type { PodSandboxConfig } from '@kubus/proto/cri';
import { runtimeHandler } from './objects.ts';
import { ownUsers } from './own-users.ts';
import { type Pass, RETRY_MS, TRANSIENT_MS, TryAgain, checkCancelled, recordEvent } from './pass.ts';
import { ReadFailed } from './pod-runtime.ts';
import { isAnswer } from './runtime-answer.ts';
import { volumeGroups } from './volumes.ts';

/** The sandbox in which the pod's containers are to run. */
export interface SandboxInUse {
  readonly id: string;
  readonly config: PodSandboxConfig;
  /** The pod's addresses, the primary one first. */
  readonly ips: readonly string[];
}

/** The sandbox that is there or that is made now; undefined when the pod is to have none. */
export async function ensureSandbox(pass: Pass, pod: Pod, actions: PodActions): Promise<SandboxInUse | undefined> {
  const { createSandbox, sandbox } = actions;
  if (sandbox !== undefined) return inUse(sandbox, await configOf(pass, pod, sandbox.attempt));
  if (createSandbox === undefined) return undefined;
  const { attempt, replaces } = createSandbox;
  if (replaces) {
    const message = 'Pod sandbox changed, it will be killed and re-created.';
    recordEvent(pass, { type: 'Normal', reason: 'SandboxChanged', message });
  }
  checkCancelled(pass);
  const { id, config } = await makeSandbox(pass, pod, attempt);
  const made = await readSandbox(pass, id);
  if (made?.ready !== true) throw new TryAgain('the pod’s sandbox has ended at once', TRANSIENT_MS);
  return inUse(made, config);
}

async function makeSandbox(pass: Pass, pod: Pod, attempt: number): Promise<{ id: string; config: PodSandboxConfig }> {
  const userNamespace = pass.userNamespace !== undefined;
  try {
    const config = await configOf(pass, pod, attempt);
    const handler = runtimeHandler(pass, pod);
    pass.deps.metrics.sandbox(userNamespace);
    const params = { config, ...(handler !== undefined && { runtimeHandler: handler }) };
    const causes = [...pass.runtime.cause, ...pass.causes];
    const { podSandboxId = '' } = await pass.runtime.change('RunPodSandbox', params, causes);
    return { id: podSandboxId, config };
  } catch (error) {
    if (!isAnswer(error) && !(error instanceof SandboxConfigError)) throw error;
    // Of a pod that is ended meanwhile it is no failure.
    checkCancelled(pass);
    pass.deps.metrics.sandboxFailed(userNamespace);
    const message = `Failed to create pod sandbox: ${rpcErrorText(error)}`;
    recordEvent(pass, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/** Containers may ask for the pod's addresses, which the runtime tells only of a sandbox that is there. */
async function readSandbox(pass: Pass, sandboxId: string): Promise<RuntimeSandbox | undefined> {
  try {
    return (await pass.runtime.read())?.sandboxes.find(({ id }) => id === sandboxId);
  } catch (error) {
    if (!(error instanceof ReadFailed)) throw error;
    const message = `Unable to get pod sandbox status: ${error.message}`;
    recordEvent(pass, { type: 'Warning', reason: 'FailedPodSandBoxStatus', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

function inUse({ id, ips }: RuntimeSandbox, config: PodSandboxConfig): SandboxInUse {
  return { id, config, ips };
}

async function configOf(pass: Pass, pod: Pod, attempt: number): Promise<PodSandboxConfig> {
  const { deps, ref } = pass;
  const { cgroups, dns, files, kernel, nodeIps } = deps;
  const { config, warnings } = dnsConfig(pod, { ...dns, nodeIps, resolvConf: await files.readResolvConf() });
  for (const { reason, message, nodeMessage } of warnings) {
    if (nodeMessage !== undefined)
      deps.nodeEvents.record({ type: 'Warning', reason, message: nodeMessage }, pass.causes);
    recordEvent(pass, { type: 'Warning', reason, message });
  }
  return sandboxConfig(pod, {
    attempt,
    logDirectory: files.logFolder(ref),
    cgroupParent: cgroups.parent(ref.uid, qosClass(pod)),
    dns: config,
    clusterDomain: dns.clusterDomain,
    ...ownUsers(pass, pod),
    ...volumeGroups(pass, pod),
    cgroupVersion: kernel?.cgroupVersion ?? 1,
  });
}
