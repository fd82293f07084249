import type { Pod, PodStatus } from '@kubus/contracts';
import type { StatusReason } from '@kubus/pod-status';

/** The failure of a pod that was active for longer than its deadline (behaviour:pod-status). */
export const DEADLINE_EXCEEDED: StatusReason = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Milliseconds until a pod reaches its deadline, 0 when it has; undefined for a pod without such a
 * limit, or one that has not started. `now`: milliseconds since the Unix epoch.
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
