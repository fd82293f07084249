import { isCritical } from '@kubus/container-config';
import type { Pod, PodStatus, PodVolumes } from '@kubus/contracts';
import type { StatusReason } from '@kubus/pod-status';

const EVICTED = 'Evicted';

/** Seconds that the containers of such a pod have to end. */
const GRACE_SECONDS = 1;

/**
 * Why a pod is evicted because of what it has written (kubelet behaviour 1.19, local storage); undefined: it is not. The
 * node's own pods are not, as they would not be admitted again.
 */
export function evictionOf(pod: Pod, volumes: Pick<PodVolumes, 'excess'> | undefined): StatusReason | undefined {
  const message = volumes?.excess?.message;
  return message === undefined || isCritical(pod) ? undefined : { reason: EVICTED, message };
}

/** The only thing that pods are evicted for: a volume of them that has grown too large, in the reference's words. */
export const EMPTY_DIR_SIGNAL = 'emptydirfs.limit';

export function isEviction({ reason }: StatusReason): boolean {
  return reason === EVICTED;
}

/** Seconds that the containers of a pod of this status have to end; undefined where it asks for no other than the pod's own. */
export function evictionGrace(status: Pick<PodStatus, 'phase' | 'reason'> | undefined): number | undefined {
  return status?.phase === 'Failed' && status.reason === EVICTED ? GRACE_SECONDS : undefined;
}
