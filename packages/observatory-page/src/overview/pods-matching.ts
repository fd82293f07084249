import type { PodSummary } from '@kubus/observatory-api';
import type { TimeRange } from './density-layout.ts';

/** Pods that have all words of a text somewhere in what is told of them, and messages in a range. */
export function podsMatching(pods: readonly PodSummary[], text: string, range: TimeRange | undefined): PodSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return pods.filter((pod) => {
    if (range !== undefined && (pod.lastAt < range.from || pod.firstAt > range.to)) return false;
    const told = `${pod.namespace}/${pod.name} ${pod.phase ?? ''} ${pod.ready === true ? 'ready' : ''} ${pod.worker ?? ''} ${pod.uid}`;
    return words.every((word) => told.toLowerCase().includes(word));
  });
}
