import type { Pod, PodWorkerReport } from '@kubus/contracts';
import { isTerminal } from '@kubus/pod-status';
import { isMirror } from './mirror.ts';

/**
 * Whether the node has the API server remove a pod for good (kubelet behaviour 1.12, delete): somebody has asked for its
 * deletion, the API server itself shows that it is over, and nothing of it is left that another pod could miss.
 *
 * With a finalizer the pod stays after that. It then has a grace period of 0, and is the business of who has put the
 * finalizer there.
 */
export function mayDelete(api: Pod, worker: Pick<PodWorkerReport, 'state' | 'cleaned'> | undefined): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = api.metadata;
  if (typeof deletionTimestamp !== 'string' || deletionGracePeriodSeconds === 0 || isMirror(api)) return false;
  if (!isTerminal(api.status?.phase)) return false;
  return worker?.state === 'finished' || (worker?.state === 'terminated' && worker.cleaned === true);
}
