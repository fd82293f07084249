import type { Pod, PodStatus } from '@kubus/contracts';
import { isTerminal } from '@kubus/pod-status';

/**
 * What of a pod is written before what, the most urgent first: what a deletion waits for; that a pod serves for the first
 * time; that it is over; that it serves or no longer serves; all other news.
 */
export const urgencies = ['deletion', 'firstReady', 'terminal', 'ready', 'other'] as const;
export type Urgency = (typeof urgencies)[number];

/** Negative when `a` is written before `b`. */
export function compareUrgency(a: Urgency, b: Urgency): number {
  return urgencies.indexOf(a) - urgencies.indexOf(b);
}

/** How urgent it is that the API server gets the status `wanted` for the pod. */
export function statusUrgency({ metadata, status: before = {} }: Pod, wanted: PodStatus): Urgency {
  if (isTerminal(wanted.phase)) {
    if (typeof metadata.deletionTimestamp === 'string') return 'deletion';
    if (!isTerminal(before.phase)) return 'terminal';
  }
  const [was, is] = [readyOf(before), readyOf(wanted)];
  if (was?.status === is?.status) return 'other';
  if (is?.status !== 'True') return was?.status === 'True' ? 'ready' : 'other';
  // Not ready since it began: it has never been.
  const first = was === undefined || was.lastTransitionTime === before.startTime;
  return first ? 'firstReady' : 'ready';
}

function readyOf(status: PodStatus) {
  return status.conditions?.find(({ type }) => type === 'Ready');
}
