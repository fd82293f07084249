import type { Pod, PodStatus, PodVolumes } from '@kubus/contracts';
import { isCritical } from '@kubus/pod';
import type { StatusReason } from '@kubus/pod-status';

const EVICTED = 'Evicted';

/** The grace period of such a pod's containers, in seconds. */
const GRACE_SECONDS = 1;

/**
 * The reason why a pod is evicted for its local storage usage (behaviour:eviction, local storage); undefined: it is not. The
 * node's own pods are never evicted, because they would not be admitted again.
 */
export function evictionOf(pod: Pod, volumes: Pick<PodVolumes, 'excess'> | undefined): StatusReason | undefined {
  const message = volumes?.excess?.message;
  return message === undefined || isCritical(pod) ? undefined : { reason: EVICTED, message };
}

/** The only reason for which pods are evicted: a volume that exceeds its limit, in the reference's words. */
export const EMPTY_DIR_SIGNAL = 'emptydirfs.limit';

export function isEviction({ reason }: StatusReason): boolean {
  return reason === EVICTED;
}

/** Whether the node has ended the pod because it was short of something, or needed its place for a critical pod. */
export function wasEvicted(status: Pick<PodStatus, 'phase' | 'reason'> | undefined): boolean {
  return status?.phase === 'Failed' && (status.reason === EVICTED || status.reason === 'Preempting');
}

/** The grace period in seconds that this status sets for the containers; undefined when it keeps the pod's own. */
export function evictionGrace(status: Pick<PodStatus, 'phase' | 'reason'> | undefined): number | undefined {
  return status?.phase === 'Failed' && status.reason === EVICTED ? GRACE_SECONDS : undefined;
}
