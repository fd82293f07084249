import { type PodSecuritySettings, SandboxConfigError, refuseUserNamespace } from '@kubus/container-config';
import type { IdRange, Pod } from '@kubus/contracts';
import { type ObjectSync, runtimeHandler } from '../objects/objects.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';

/** The inputs of a pod's user namespace. */
export type UserSync = ObjectSync &
  Pick<WorkerDeps, 'runtimeCondition'> & {
    /** The IDs that are allocated to the pod, if it does not use the host's users. */
    readonly userNamespace: IdRange | undefined;
  };

/**
 * The setting with which sandbox and containers of a pod are created that does not use the host's users
 * (behaviour:qos-and-cgroups). Throws a SandboxConfigError when the runtime does not support it, or when no IDs are free.
 */
export function ownUsers(sync: UserSync, pod: Pod): Pick<PodSecuritySettings, 'userNamespace'> {
  if (pod.spec.hostUsers !== false) return {};
  const refusal = refuseUserNamespace(runtimeHandler(sync, pod) ?? '', sync.runtimeCondition()?.handlers);
  if (refusal !== undefined) throw new SandboxConfigError(refusal);
  const { userNamespace } = sync;
  if (userNamespace !== undefined) return { userNamespace };
  const message = 'create user namespace: could not find an empty slot to allocate a user namespace';
  throw new SandboxConfigError(message);
}
