import type { Pod } from '@kubus/contracts';
import type { NamespaceOption, UserNamespace } from '@kubus/proto/cri';
import { SandboxConfigError } from './errors.ts';

/** The ids of the host that a pod's user namespace maps from 0 on. */
export interface IdRange {
  readonly hostId: number;
  readonly length: number;
}

/**
 * Which namespaces a pod's containers share with the host and with each other.
 *
 * @param ids of the pod's user namespace; needed when the pod does not use the host's users
 *
 * Throws {@link SandboxConfigError} when they are missing: the pod would run with the host's users instead.
 */
export function namespaceOptions({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>, ids?: IdRange): NamespaceOption {
  if (spec.hostUsers === false && ids === undefined) {
    throw new SandboxConfigError(`no user namespace has been allocated for pod "${metadata.name}"`);
  }
  return {
    network: spec.hostNetwork === true ? 'NODE' : 'POD',
    ipc: spec.hostIPC === true ? 'NODE' : 'POD',
    pid: spec.hostPID === true ? 'NODE' : spec.shareProcessNamespace === true ? 'POD' : 'CONTAINER',
    usernsOptions: spec.hostUsers === false && ids !== undefined ? userNamespace(ids) : { mode: 'NODE' },
  };
}

function userNamespace({ hostId, length }: IdRange): UserNamespace {
  const mapping = [{ hostId, containerId: 0, length }];
  return { mode: 'POD', uids: mapping, gids: mapping };
}
