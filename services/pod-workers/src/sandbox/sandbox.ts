import { SandboxConfigError, dnsConfig, sandboxConfig } from '@kubus/container-config';
import { type Pod, type RuntimeSandbox, rpcErrorText } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import type { PodSandboxConfig } from '@kubus/proto/cri';
import { runtimeHandler } from '../objects/objects.ts';
import { ReadFailed } from '../runtime/pod-runtime.ts';
import { isAnswer } from '../runtime/runtime-answer.ts';
import { RETRY_MS, TRANSIENT_MS, TryAgain } from '../sync/errors.ts';
import { type PodSync, checkCancelled, recordEvent } from '../sync/pod-sync.ts';
import type { Round, Step } from '../sync/step.ts';
import { type VolumeSync, volumeGroups } from '../volumes/volumes.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import type { SandboxInUse } from './sandbox-in-use.ts';
import { removeAllSandboxes, removeSandboxes } from './sandbox-removal.ts';
import { type UserSync, ownUsers } from './user-namespace.ts';

/** What the step of the pod's sandbox uses. */
export type SandboxSync = UserSync &
  VolumeSync &
  Pick<WorkerDeps, 'cgroups' | 'dns' | 'files' | 'enforcement' | 'kernel' | 'metrics' | 'nodeEvents' | 'nodeIps'>;

/** The sandbox in which the pod's containers run (behaviour:pod-workers, SyncPod). */
export const sandboxStep: Step<SandboxSync, PodSync> = {
  run: async (sync, round) => {
    round.sandbox = await ensureSandbox(sync, round);
  },
  undo: (sync, { sandboxes, forget }) =>
    forget ? removeAllSandboxes(sync, sandboxes) : removeSandboxes(sync, sandboxes),
};

/** The existing sandbox, or a new one; undefined when the pod must not have one. */
async function ensureSandbox(sync: SandboxSync, { pod, actions, search }: Round): Promise<SandboxInUse | undefined> {
  const { createSandbox, sandbox } = actions;
  if (sandbox !== undefined) return inUse(sandbox, await configOf(sync, pod, sandbox.attempt));
  if (createSandbox === undefined) return undefined;
  const { attempt, replaces } = createSandbox;
  if (replaces) {
    const message = 'Pod sandbox changed, it will be killed and re-created.';
    recordEvent(sync, { type: 'Normal', reason: 'SandboxChanged', message });
  }
  checkCancelled(sync);
  search.begin();
  const { id, config } = await makeSandbox(sync, pod, attempt);
  const made = await readSandbox(sync, id);
  if (made?.ready !== true) throw new TryAgain('the pod’s sandbox ended right after its start', TRANSIENT_MS);
  return inUse(made, config);
}

async function makeSandbox(
  sync: SandboxSync,
  pod: Pod,
  attempt: number,
): Promise<{ id: string; config: PodSandboxConfig }> {
  const userNamespace = sync.userNamespace !== undefined;
  try {
    const config = await configOf(sync, pod, attempt);
    const handler = runtimeHandler(sync, pod);
    sync.metrics.sandbox(userNamespace);
    const params = { config, ...(handler !== undefined && { runtimeHandler: handler }) };
    const causes = [...sync.runtime.cause, ...sync.causes];
    const { podSandboxId = '' } = await sync.runtime.change('RunPodSandbox', params, causes);
    return { id: podSandboxId, config };
  } catch (error) {
    if (!isAnswer(error) && !(error instanceof SandboxConfigError)) throw error;
    // For a pod that is stopped in the meantime this is not a failure.
    checkCancelled(sync);
    sync.metrics.sandboxFailed(userNamespace);
    const message = `Failed to create pod sandbox: ${rpcErrorText(error)}`;
    recordEvent(sync, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

/** Containers may need the pod's addresses, which the runtime lists only for a sandbox that exists. */
async function readSandbox(sync: SandboxSync, sandboxId: string): Promise<RuntimeSandbox | undefined> {
  try {
    return (await sync.runtime.afterCommand())?.sandboxes.find(({ id }) => id === sandboxId);
  } catch (error) {
    if (!(error instanceof ReadFailed)) throw error;
    const message = `Unable to get pod sandbox status: ${error.message}`;
    recordEvent(sync, { type: 'Warning', reason: 'FailedPodSandBoxStatus', message });
    throw new TryAgain(message, RETRY_MS, { cause: error });
  }
}

function inUse({ id, ips }: RuntimeSandbox, config: PodSandboxConfig): SandboxInUse {
  return { id, config, ips };
}

async function configOf(sync: SandboxSync, pod: Pod, attempt: number): Promise<PodSandboxConfig> {
  const { cgroups, dns, enforcement, files, kernel, nodeEvents, nodeIps, ref } = sync;
  const { config, warnings } = dnsConfig(pod, { ...dns, nodeIps: nodeIps(), resolvConf: await files.readResolvConf() });
  for (const { reason, message, nodeMessage } of warnings) {
    if (nodeMessage !== undefined) {
      nodeEvents.record({ type: 'Warning', reason, message: nodeMessage }, sync.causes);
    }
    recordEvent(sync, { type: 'Warning', reason, message });
  }
  return sandboxConfig(pod, {
    attempt,
    logDirectory: files.logFolder(ref),
    cgroupParent: cgroups.parent(ref.uid, qosClass(pod)),
    dns: config,
    clusterDomain: dns.clusterDomain,
    ...ownUsers(sync, pod),
    ...volumeGroups(sync, pod),
    cgroupVersion: kernel?.cgroupVersion ?? 1,
    ...enforcement,
  });
}
