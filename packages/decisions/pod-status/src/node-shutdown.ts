import type { PodStatus, Refusal } from '@kubus/contracts';

/** Why a pod has failed that was ended because the machine shuts down (behaviour:node-shutdown). */
export const ENDED_BY_SHUTDOWN: Refusal = {
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};

/** Why a pod is not admitted while the machine shuts down (behaviour:admission, row 8). */
export const REFUSED_BY_SHUTDOWN: Refusal = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};

/** Whether a pod has failed because the machine was shut down: it was ended, or was not admitted. */
export function isEndedByShutdown(status: Pick<PodStatus, 'reason' | 'message'> | undefined): boolean {
  if (status?.reason === REFUSED_BY_SHUTDOWN.reason) return true;
  return status?.reason === ENDED_BY_SHUTDOWN.reason && status.message === ENDED_BY_SHUTDOWN.message;
}
