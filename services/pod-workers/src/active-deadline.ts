import type { Pod, PodStatus } from '@kubus/contracts';
import type { StatusReason } from '@kubus/pod-status';

/** Why a pod has failed that was active for longer than it may be (kubelet behaviour 1.12). */
export const DEADLINE_EXCEEDED: StatusReason = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Milliseconds until a pod has been active for as long as it may be, 0 when it has; undefined for one without such a
 * limit, or that has not begun. `now`: milliseconds since the Unix epoch.
 */
export function deadlineLeftMs(
  { spec }: Pick<Pod, 'spec'>,
  status: Pick<PodStatus, 'startTime'> | undefined,
  now: number,
): number | undefined {
  const began = status?.startTime;
  if (spec.activeDeadlineSeconds === undefined || began === undefined || began === null) return undefined;
  return Math.max(0, Date.parse(began) + spec.activeDeadlineSeconds * 1000 - now);
}
