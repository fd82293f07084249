import type { ContainerStatus, Pod, PodStatus } from '@kubus/contracts';
import { isStatic, qosClass, timeOfMs } from '@kubus/pod';
import { findContainer, isSidecar, restartsAfter } from '@kubus/pod-lifecycle';
import type { StatusReason } from './input.ts';
import { UNLOCATED } from './lost-container.ts';
import { isTerminal } from './phase.ts';

/**
 * The status of a pod that the node did not admit (behaviour:admission): it has failed before anything was created for it.
 * `reason` is that of admission, such as `OutOfcpu`; `now`: milliseconds since the Unix epoch.
 */
export function rejectedStatus(pod: Pod, { reason, message, now }: StatusReason & { readonly now: number }): PodStatus {
  return {
    ...((pod.metadata.generation ?? 0) > 0 && { observedGeneration: pod.metadata.generation }),
    phase: 'Failed',
    conditions: pod.status?.conditions ?? [],
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: pod.status?.startTime ?? timeOfMs(now),
    qosClass: qosClass(pod),
  };
}

/**
 * The last status of a pod of which nothing is left to run (behaviour:pod-status, deletion of Pending). Containers that
 * existed and whose end was not observed count as killed, and every pod that is not static has a terminal phase.
 */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const init = status.initContainerStatuses;
  const begun = (init ?? []).findLastIndex(({ state, lastState }) => hasBegun(state, lastState));
  const regular = status.containerStatuses;
  const initialized = isInitialized(pod, status);
  return {
    ...status,
    ...(init !== undefined && {
      // At least the first one was to run.
      initContainerStatuses: init.map((one, index) => (index <= Math.max(0, begun) ? ended(one) : one)),
    }),
    ...(regular !== undefined && { containerStatuses: initialized ? regular.map(ended) : regular }),
    ...(!isStatic(pod) && !isTerminal(status.phase) && { phase: 'Failed' }),
  };
}

/**
 * A recorded status of a pod of which nothing runs any more. A container that it shows as running has ended since: the status that showed its
 * end was not recorded. It counts as killed.
 */
export function withNoneRunning(status: PodStatus): PodStatus {
  const stopped = (one: ContainerStatus) => (one.state?.running === undefined ? one : { ...ended(one), ready: false });
  const lists = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;
  const changed = lists.flatMap((list) => {
    const { [list]: statuses } = status;
    return statuses === undefined ? [] : [[list, statuses.map(stopped)] as const];
  });
  return { ...status, ...Object.fromEntries(changed) };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated !== undefined ? status : { ...status, state: { terminated: UNLOCATED } };
}

function hasBegun(state: ContainerStatus['state'], lastState: ContainerStatus['lastState']): boolean {
  return state?.running !== undefined || state?.terminated !== undefined || lastState?.terminated !== undefined;
}

/** A regular container has existed, or the last init container has succeeded. */
function isInitialized(pod: Pod, status: PodStatus): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined) return true;
  if ((status.containerStatuses ?? []).some(({ state, lastState }) => hasBegun(state, lastState))) return true;
  const known = status.initContainerStatuses?.find(({ name }) => name === last.name);
  if (isSidecar(last)) return known?.started === true;
  return (known?.state?.terminated ?? known?.lastState?.terminated)?.exitCode === 0;
}

/**
 * A container that had ended permanently and that `next` shows as running again; undefined when there is none. Such a status is
 * an error and must not be written (behaviour:pod-status, illegal transition).
 */
export function illegalTransition(pod: Pod, previous: PodStatus, next: PodStatus): string | undefined {
  if (mayBeginAnew(pod)) return undefined;
  const before = [...(previous.initContainerStatuses ?? []), ...(previous.containerStatuses ?? [])];
  const after = [...(next.initContainerStatuses ?? []), ...(next.containerStatuses ?? [])];
  return before.find(({ name, state }) => {
    const container = findContainer(pod, name)?.container;
    if (container === undefined || state?.terminated === undefined) return false;
    if (restartsAfter(pod, container, state.terminated.exitCode)) return false;
    const now = after.find((one) => one.name === name);
    return now !== undefined && now.state?.terminated === undefined;
  })?.name;
}

/** Init containers of such a pod run again in a new sandbox, or when the pod restarts in place (KEP-5532). */
function mayBeginAnew({ spec }: Pod): boolean {
  if ((spec.restartPolicy ?? 'Always') === 'Always') return true;
  return [...(spec.initContainers ?? []), ...spec.containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}
