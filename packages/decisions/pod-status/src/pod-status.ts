import type { PodStatus } from '@kubus/contracts';
import { qosClass, timeOfMs } from '@kubus/pod';
import { containersOf, restartAll, sandboxDecision } from '@kubus/pod-lifecycle';
import { addressFields } from './addresses.ts';
import { RESTARTING, podConditions } from './conditions.ts';
import { containerStatuses } from './container-status.ts';
import type { PodStatusInput } from './input.ts';
import { type PodPhase, isTerminal, podPhase } from './phase.ts';
import { podResourceList } from './pod-resources.ts';
import { limitMessages } from './termination-message.ts';

/** The status of a pod as shown by the API (behaviour:pod-status). */
export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, runtime, previous } = input;
  const now = timeOfMs(input.now);
  const restartingAll = isRestartingAll(input);
  const { init, regular, ephemeral } = containerStatuses(input, restartingAll === true);
  const initialized = pod.spec.containers.some(({ name }) => inSandbox(input, name));
  const phase = settledPhase(input, () => podPhase({ pod, init, regular, ending: input.ending, initialized }));
  const { resize, disruption } = input;
  const status: PodStatus = {
    ...((pod.metadata.generation ?? 0) > 0 && { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: podConditions({ pod, runtime, previous, resize, disruption, init, regular, phase, restartingAll, now }),
    ...reasonOf(input, phase),
    ...addressFields(input),
    startTime: previous?.startTime ?? pod.status?.startTime ?? now,
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: regular,
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
    qosClass: qosClass(pod),
    ...resourceFields(input),
  };
  return limitMessages(status, containersOf(pod).length);
}

/**
 * A terminal phase never changes; then a failure outside the containers takes precedence. A disruption only ends the containers:
 * if all of them exit with 0, the pod has succeeded (behaviour:pod-status, phase).
 */
function settledPhase(input: PodStatusInput, judge: () => PodPhase): PodPhase {
  const { pod, previous, failure, disruption, ending } = input;
  if (isTerminal(pod.status?.phase)) return pod.status.phase;
  if (disruption !== undefined && ending && judge() === 'Succeeded') return 'Succeeded';
  if (isTerminal(previous?.phase)) return previous.phase;
  return failure === undefined ? judge() : 'Failed';
}

/** Reason and message belong to a phase and stay as long as the phase does. */
function reasonOf({ pod, previous, failure }: PodStatusInput, phase: PodPhase): Pick<PodStatus, 'reason' | 'message'> {
  const before = [previous, pod.status].find((status) => status?.phase === phase && status.reason !== undefined);
  const { reason, message } = before ?? (phase === 'Failed' ? failure : undefined) ?? {};
  return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

function inSandbox({ pod, runtime }: PodStatusInput, name: string): boolean {
  const decision = sandboxDecision(pod, runtime);
  const sandbox = decision.kind === 'keep' ? decision.sandbox : runtime?.sandboxes[0];
  return runtime?.containers.some((one) => one.name === name && one.sandboxId === sandbox?.id) === true;
}

/**
 * Whether all containers of the pod are being restarted (KEP-5532): from the end of the one that caused it until the first
 * one exists again. Undefined for a pod to which this has never happened.
 */
function isRestartingAll({ pod, runtime, previous, restartAllContainers }: PodStatusInput): boolean | undefined {
  if (restartAllContainers !== true) return undefined;
  const decision = sandboxDecision(pod, runtime);
  if (decision.kind === 'keep' && restartAll(pod, runtime, decision.sandbox) !== undefined) return true;
  const before = previous?.conditions?.find(({ type }) => type === RESTARTING);
  if (before === undefined) return undefined;
  const names = containersOf(pod).flatMap(({ kind, container }) => (kind === 'ephemeral' ? [] : [container.name]));
  return before.status === 'True' && runtime?.containers.some(({ name }) => names.includes(name)) !== true;
}

function resourceFields({ pod, podResources }: PodStatusInput): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const limits = podResourceList(pod, 'limits');
  const requests = podResourceList(pod, 'requests');
  const allocated = podResources?.allocated ?? requests;
  const some = (list: Record<string, string>) => Object.keys(list).length > 0;
  return {
    ...(some(allocated) && { allocatedResources: allocated }),
    resources: podResources?.actual ?? { ...(some(limits) && { limits }), ...(some(requests) && { requests }) },
  };
}
