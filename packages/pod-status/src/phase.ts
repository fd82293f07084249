import type { ContainerStatus, Pod, PodStatus, RuntimePod } from '@kubus/contracts';
import { newestContainer, restartDecision } from '@kubus/pod-lifecycle';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** Terminal phases never change again (kubelet behaviour 1.12). */
export function isTerminal(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/**
 * The phase of a pod by its containers. `ending`: the pod is being ended, so what has stopped will not start again.
 * Static pods keep their policy's phase while they end, because their source may want them back.
 */
export function podPhase(input: {
  pod: Pod;
  runtime: RuntimePod | undefined;
  statuses: readonly ContainerStatus[];
  previous: PodStatus | undefined;
  ending: boolean;
}): PodPhase {
  const { pod, runtime, statuses, previous, ending } = input;
  if (isTerminal(previous?.phase)) return previous.phase;
  if (isTerminal(pod.status?.phase)) return pod.status.phase;
  let running = 0;
  let waiting = 0;
  let stopped = 0;
  let succeeded = 0;
  let restartable = 0;
  for (const container of pod.spec.containers) {
    const status = statuses.find(({ name }) => name === container.name);
    if (status?.state?.running !== undefined) running += 1;
    else if (status?.state?.terminated !== undefined) {
      stopped += 1;
      if (status.state.terminated.exitCode === 0) succeeded += 1;
      if (restartDecision(pod, container, newestContainer(runtime, container.name)).restart) restartable += 1;
    } else if (status?.lastState?.terminated !== undefined) {
      stopped += 1;
      restartable += 1;
    } else waiting += 1;
  }
  if (waiting > 0) return 'Pending';
  if (running > 0) return 'Running';
  if (stopped === 0) return 'Pending';
  if (restartable > 0 && !ending) return 'Running';
  return succeeded === stopped ? 'Succeeded' : 'Failed';
}
