import type { ContainerState, ContainerStateTerminated, ContainerStatus } from '@kubus/contracts';
import { type NamedContainer, isSet } from '@kubus/pod-lifecycle';
import type { PodStatusInput } from './input.ts';

/** Reason of a container that was running when it was last seen and no longer exists. */
export const STATUS_UNKNOWN = 'ContainerStatusUnknown';
/** Exit code of a container whose end is unknown: as if it had been killed. */
const KILLED = 137;

/** The end of a container that could not be found when its pod ended, or whose state the runtime has lost. */
export const UNLOCATED: ContainerStateTerminated = {
  reason: STATUS_UNKNOWN,
  message: 'The container could not be located when the pod was terminated',
  exitCode: KILLED,
};

/**
 * The state of a container that the runtime does not have (behaviour:pod-status, waiting defaults and lost
 * containers): it waits, unless the previous status shows more.
 *
 * - One that had ended is unchanged.
 * - One that was running has ended with an unknown result. It waits to be started again, and counts as one that has
 *   run, so that the pod does not look as if it had never started.
 * - A plain init container of a pod whose regular containers have been created has succeeded.
 */
export function lostContainer(
  { kind, container }: NamedContainer,
  input: PodStatusInput,
  before: ContainerStatus | undefined,
  restartingAll: boolean,
): Pick<ContainerStatus, 'state' | 'lastState' | 'restartCount' | 'image' | 'imageID' | 'containerID'> {
  const { pod, runtime } = input;
  const waits: ContainerState = {
    waiting: { reason: (pod.spec.initContainers?.length ?? 0) > 0 ? 'PodInitializing' : 'ContainerCreating' },
  };
  const restartCount = before?.restartCount ?? 0;
  const blank = { image: container.image ?? '', imageID: '', lastState: before?.lastState ?? {} };
  if (restartingAll && kind !== 'ephemeral') {
    const ended = before?.state?.terminated ?? (before?.state?.running === undefined ? undefined : restartedByPod());
    if (ended === undefined) return { ...blank, state: waits, restartCount };
    return { ...blank, state: waits, lastState: { terminated: ended }, restartCount: restartCount + 1 };
  }
  if (before?.state?.terminated !== undefined) {
    const { state, image, imageID, containerID } = before;
    return { ...blank, state, image, imageID, restartCount, ...(containerID !== undefined && { containerID }) };
  }
  const regularExists = pod.spec.containers.some(({ name }) => runtime?.containers.some((one) => one.name === name));
  if (kind === 'init' && regularExists) {
    const message =
      'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
    return { ...blank, state: { terminated: { reason: 'Completed', message, exitCode: 0 } }, restartCount };
  }
  if (before?.state?.running === undefined || blank.lastState.terminated !== undefined) {
    return { ...blank, state: waits, restartCount };
  }
  const terminated = {
    reason: STATUS_UNKNOWN,
    message: 'The container could not be located when the pod was deleted.  The container used to be Running',
    exitCode: KILLED,
  };
  const again = isSet(pod.metadata.deletionTimestamp) ? 0 : 1;
  return { ...blank, state: waits, lastState: { terminated }, restartCount: restartCount + again };
}

/** The end of a container that was removed so that the whole pod can restart (KEP-5532). */
function restartedByPod(): ContainerStateTerminated {
  return {
    reason: 'RestartingAllContainers',
    message: 'The container was ended because all containers of the pod are restarted',
    exitCode: KILLED,
  };
}
