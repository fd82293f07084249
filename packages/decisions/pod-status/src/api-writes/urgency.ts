import type { Pod, PodStatus } from '@kubus/contracts';
import { isTerminal } from '../phase.ts';

/**
 * The order of writes, the most urgent first: one for which a deletion waits; a pod that is ready for the first time; a terminal
 * phase; a change of readiness; everything else.
 */
export const urgencies = ['deletion', 'firstReady', 'terminal', 'ready', 'other'] as const;
export type Urgency = (typeof urgencies)[number];

/** Negative when `a` is written before `b`. */
export function compareUrgency(a: Urgency, b: Urgency): number {
  return urgencies.indexOf(a) - urgencies.indexOf(b);
}

/** How urgently the status `wanted` has to be written to the API server. */
export function statusUrgency({ metadata, status: before = {} }: Pod, wanted: PodStatus): Urgency {
  if (isTerminal(wanted.phase)) {
    if (typeof metadata.deletionTimestamp === 'string') return 'deletion';
    if (!isTerminal(before.phase)) return 'terminal';
  }
  const [was, is] = [readyOf(before), readyOf(wanted)];
  if (was?.status === is?.status) return 'other';
  if (is?.status !== 'True') return was?.status === 'True' ? 'ready' : 'other';
  // Not ready since it started: it has never been ready.
  const first = was === undefined || was.lastTransitionTime === before.startTime;
  return first ? 'firstReady' : 'ready';
}

function readyOf(status: PodStatus) {
  return status.conditions?.find(({ type }) => type === 'Ready');
}
