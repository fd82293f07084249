import type { Pod, PodCondition, PodStatus } from '@kubus/contracts';
import { isMirror } from '@kubus/pod';
import { DISRUPTION, OWNED_CONDITIONS } from '../conditions.ts';
import { isTerminal } from '../phase.ts';

/** The status fields that the node owns. All others, including future fields, have other owners. */
export const NODE_FIELDS = [
  'observedGeneration',
  'phase',
  'conditions',
  'message',
  'reason',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'qosClass',
  'allocatedResources',
  'resources',
] as const satisfies readonly (keyof PodStatus)[];

export interface WantedInput {
  /** The pod in the API server; for a static pod its mirror pod. */
  readonly api: Pod;
  /** The status as published on the node: times in whole seconds, messages limited. */
  readonly node: PodStatus;
  /** Containers of the pod may still be running. */
  readonly mayRun: boolean;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/**
 * The status to write to the API server: the node's, together with what others have written (behaviour:pod-status,
 * status patch).
 *
 * - A terminal phase is withheld while containers may be running, because programs that wait for it assume that their resources are
 *   free. Once set it stays, except in a mirror pod, whose static pod may start again.
 * - The start time and the QoS class never change, and the observed generation does not decrease.
 * - A pod that has ended is not ready.
 */
export function wantedStatus(input: WantedInput): PodStatus {
  const { api, node } = input;
  const before = api.status ?? {};
  const observedGeneration = Math.max(before.observedGeneration ?? 0, node.observedGeneration ?? 0);
  const phase = phaseOf(input);
  return {
    ...before,
    ...Object.fromEntries(NODE_FIELDS.map((field) => [field, node[field]])),
    ...(observedGeneration > 0 && { observedGeneration }),
    ...phase,
    conditions: conditionsOf(input, phase.phase),
    startTime: before.startTime ?? node.startTime,
    qosClass: before.qosClass ?? node.qosClass,
  };
}

/** Reason and message belong to the phase. */
function phaseOf({ api, node, mayRun }: WantedInput): Pick<PodStatus, 'phase' | 'reason' | 'message'> {
  const { phase, reason, message } = api.status ?? {};
  const withheld = isTerminal(node.phase) && !isTerminal(phase) && mayRun;
  const over = isTerminal(phase) && !isTerminal(node.phase) && !isMirror(api);
  if (withheld || over) return { phase, reason, message };
  return { phase: node.phase, reason: node.reason, message: node.message };
}

/** First the existing ones, then the new ones. */
function conditionsOf(input: WantedInput, phase: string | undefined): PodCondition[] {
  const before = input.api.status?.conditions ?? [];
  const own = ownConditions(input, phase);
  const find = (type: string) => own.find((condition) => condition.type === type);
  const kept = before.flatMap((condition) => {
    const replaced = find(condition.type);
    if (replaced !== undefined) return [replaced];
    return OWNED_CONDITIONS.includes(condition.type) ? [] : [condition];
  });
  const added = own.filter(({ type }) => !before.some((condition) => condition.type === type));
  return [...kept, ...added];
}

function ownConditions(input: WantedInput, phase: string | undefined): PodCondition[] {
  const { api, node, now } = input;
  const before = api.status?.conditions ?? [];
  const own = (node.conditions ?? [])
    .filter(({ type }) => OWNED_CONDITIONS.includes(type))
    .map((condition) => dated(over(condition, phase), before, now));
  // The disruption is written together with the pod's end: until then it may be canceled.
  const ends = isTerminal(phase) && !isTerminal(api.status?.phase);
  const disruption = ends ? node.conditions?.find(({ type }) => type === DISRUPTION) : undefined;
  return disruption === undefined ? own : [...own, dated(undated(disruption), before, now)];
}

/** A pod that has ended is not ready, whatever its containers were when it ended. */
function over(condition: PodCondition, phase: string | undefined): PodCondition {
  const { type, status } = condition;
  if (!isTerminal(phase) || status !== 'True' || !['Ready', 'ContainersReady'].includes(type)) return condition;
  const { message: _, ...rest } = undated(condition);
  return { ...rest, status: 'False', reason: phase === 'Failed' ? 'PodFailed' : 'PodCompleted' };
}

function undated({ lastTransitionTime: _, ...condition }: PodCondition): PodCondition {
  return condition;
}

/**
 * The time of a condition is that of its last change of status: now, if it has none. When the API server has the same
 * status, it is the later of the two times: the node may have lost the time of the change, or the API server may have missed a
 * change back and forth.
 */
function dated(condition: PodCondition, before: readonly PodCondition[], now: string): PodCondition {
  const known = before.find(({ type }) => type === condition.type);
  const same = known?.status === condition.status;
  const times = [condition.lastTransitionTime, same ? known.lastTransitionTime : undefined];
  // The API server does not allow it to be removed.
  const observedGeneration = condition.observedGeneration || known?.observedGeneration;
  return {
    ...condition,
    ...(observedGeneration !== undefined && { observedGeneration }),
    // Only the node sets it, and currently does not.
    ...(known?.lastProbeTime !== undefined && { lastProbeTime: known.lastProbeTime }),
    lastTransitionTime:
      times
        .filter((time) => typeof time === 'string')
        .sort()
        .at(-1) ?? now,
  };
}
