import type { Pod, PodWorkerReport } from '@kubus/contracts';
import { isMirror } from '@kubus/pod';
import { isTerminal } from '../phase.ts';

/**
 * Whether the node may finally delete a pod from the API server (behaviour:pod-status, delete): its deletion was
 * requested, the API server has it in a terminal phase, and it uses no resources that another pod could need.
 *
 * With a finalizer the pod still exists after that. It then has a grace period of 0, and the finalizer's controller has to
 * remove it.
 */
export function mayDelete(api: Pod, worker: Pick<PodWorkerReport, 'state' | 'cleaned'> | undefined): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = api.metadata;
  if (typeof deletionTimestamp !== 'string' || deletionGracePeriodSeconds === 0 || isMirror(api)) return false;
  if (!isTerminal(api.status?.phase)) return false;
  return worker?.state === 'finished' || (worker?.state === 'terminated' && worker.cleaned === true);
}
