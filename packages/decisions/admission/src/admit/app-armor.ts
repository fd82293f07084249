import { askedAppArmor } from '@kubus/container-config';
import type { Pod, Refusal } from '@kubus/contracts';
import { containersOf } from '@kubus/pod-lifecycle';
import type { AdmissionNode } from '../admission-node.ts';

/** A profile is refused where the kernel does not enforce AppArmor (behaviour:admission, row 5). */
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
