import type { PodState, PodSummary } from '@kubus/contracts/observatory';
import { type PodSigns, REFUSED } from './pod-signs.ts';

/** What a pod's last messages say about it: the part of its signs that its state depends on. */
type PodSaid = {
  readonly [Name in 'phase' | 'ready' | 'worker' | 'trouble' | 'retried' | 'refused']?: PodSigns[Name] | undefined;
};

/** Whether the node has nothing of a pod, since its source does not pass it on. */
function isRefused({ refused, phase, worker }: PodSaid): boolean {
  return (refused ?? null) !== null && phase === undefined && worker === undefined;
}

/** How a pod is doing. What is removed from the node is deleted, whatever its last status said. */
export function podStateOf(said: PodSaid): PodState {
  const { phase, ready, worker, trouble = '', retried } = said;
  if (isRefused(said)) return 'failed';
  if (worker === 'finished') return 'deleted';
  if (phase === 'Succeeded') return 'succeeded';
  if (phase === 'Failed') return 'failed';
  if (worker === 'terminating' || worker === 'terminated') return 'stopping';
  if (ready === true) return 'ready';
  if (trouble !== '' || retried === true) return 'failing';
  return phase === 'Running' ? 'unready' : 'starting';
}

/** The fields of a summary that say how the pod is doing. */
export function saidOf(said: PodSaid): Pick<PodSummary, 'phase' | 'ready' | 'worker' | 'state' | 'reason'> {
  const { phase, ready, worker } = said;
  const trouble = isRefused(said) ? REFUSED : (said.trouble ?? '');
  const state = podStateOf(said);
  return {
    ...(phase !== undefined && { phase }),
    ...(ready !== undefined && { ready }),
    ...(worker !== undefined && { worker }),
    state,
    ...(trouble !== '' && (state === 'failing' || state === 'failed') && { reason: trouble }),
  };
}
