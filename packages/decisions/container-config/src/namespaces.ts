import type { IdRange, Pod, RuntimeCondition } from '@kubus/contracts';
import type { NamespaceOption, UserNamespace } from '@kubus/proto/cri';
import { SandboxConfigError } from './errors.ts';

/**
 * Which namespaces a pod's containers share with the host and with each other.
 *
 * @param ids of the pod's user namespace; needed when the pod does not use the host's users
 *
 * Throws {@link SandboxConfigError} when they are missing: the pod would otherwise run with the host's users.
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

/**
 * Why a pod of this handler cannot have its own user namespace; undefined when it can. The texts are the reference
 * kubelet's.
 *
 * @param handler as named by the pod's RuntimeClass; empty for the default one
 * @param handlers the runtime's handlers, if it reports them
 */
export function refuseUserNamespace(handler: string, handlers: RuntimeCondition['handlers'] = {}): string | undefined {
  const features = handlers[handler];
  if (features?.userNamespaces === true) return undefined;
  const who = handler === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(handler)}`;
  const refusal = `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`;
  const isUnknown = features === undefined && Object.keys(handlers).length > 0;
  return isUnknown ? `${refusal}: the handler ${JSON.stringify(handler)} is not known` : refusal;
}

function userNamespace({ hostId, length }: IdRange): UserNamespace {
  const mapping = [{ hostId, containerId: 0, length }];
  return { mode: 'POD', uids: mapping, gids: mapping };
}
