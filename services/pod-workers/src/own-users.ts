import { type PodSecuritySettings, SandboxConfigError, refuseUserNamespace } from '@kubus/container-config';
import type { Pod } from '@kubus/contracts';
import { runtimeHandler } from './objects.ts';
import type { Pass } from './pass.ts';

/**
 * What sandbox and containers of a pod are told that does not use the host's users (kubelet behaviour 1.20).
 *
 * Throws SandboxConfigError when the runtime does not have that, or when there are no ids left.
 */
export function ownUsers(pass: Pass, pod: Pod): Pick<PodSecuritySettings, 'userNamespace'> {
  if (pod.spec.hostUsers !== false) return {};
  const refusal = refuseUserNamespace(runtimeHandler(pass, pod) ?? '', pass.deps.runtime()?.handlers);
  if (refusal !== undefined) throw new SandboxConfigError(refusal);
  const { userNamespace } = pass;
  if (userNamespace !== undefined) return { userNamespace };
  const message = 'create user namespace: could not find an empty slot to allocate a user namespace';
  throw new SandboxConfigError(message);
}
