import { askedAppArmor } from '@kubus/container-config';
import type { Pod, Refusal } from '@kubus/contracts';
import { containersOf } from '@kubus/pod-lifecycle';
import type { AdmissionNode } from './node.ts';

/** A profile can not be held to where the kernel enforces none (kubelet behaviour 1.17, row 5). */
export function refuseAppArmor(pod: Pod, { appArmor }: AdmissionNode): Refusal | undefined {
  const isPending = (pod.status?.phase ?? 'Pending') === 'Pending';
  if (appArmor || !isPending) return undefined;
  const asks = containersOf(pod).some(({ container }) => {
    const type = askedAppArmor(pod, container)?.type;
    return type !== undefined && type !== 'Unconfined';
  });
  if (!asks) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}
