import type { PodSummary } from '@kubus/contracts/observatory';
import { stateWords } from '../theme/pod-states.ts';
import type { TimeRange } from './density-layout.ts';

/** Pods that match all words of a text, and have messages in a range. */
export function podsMatching(pods: readonly PodSummary[], text: string, range: TimeRange | undefined): PodSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return pods.filter((pod) => {
    if (range !== undefined && (pod.lastAt < range.from || pod.firstAt > range.to)) return false;
    const state = stateWords(pod.state, pod.reason);
    const text = `${pod.namespace}/${pod.name} ${state} ${pod.phase ?? ''} ${pod.worker ?? ''} ${pod.uid}`;
    return words.every((word) => text.toLowerCase().includes(word));
  });
}
