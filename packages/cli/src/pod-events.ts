import { type RecordedMessage } from '@kubus/causality';
import { type PodEvent, podEventSchema } from '@kubus/contracts';
import { formatAge } from './table.ts';

/** Where the events of all publishers are, for one pod's UID or `*`: relative to the node's subjects. */
export const eventsOf = (uid: string) => `*.event.recorded.${uid}`;

/** An event with the instance that told it. */
export interface ToldEvent extends PodEvent {
  readonly from: string;
}

/** Undefined for a message that is no event of a pod, such as one of another version. */
export function toldEvent({ message, envelope }: RecordedMessage): ToldEvent | undefined {
  const parsed = podEventSchema.safeParse(JSON.parse(message.data));
  return parsed.success ? { ...parsed.data, from: envelope.source } : undefined;
}

/** The newest of each series, the one that happened last at the end. */
export function newestEvents(messages: readonly RecordedMessage[]): ToldEvent[] {
  const newest = new Map<string, ToldEvent>();
  for (const message of messages) {
    const event = toldEvent(message);
    if (event !== undefined) newest.set(event.series, event);
  }
  return [...newest.values()].sort((a, b) => Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp));
}

/** When an event was seen, as kubectl says it: `5s`, or `5s (x3 over 2m)`. */
export function lastSeen({ count, firstTimestamp, lastTimestamp }: PodEvent, now: number): string {
  const age = (time: string) => formatAge(now - Date.parse(time));
  return count > 1 ? `${age(lastTimestamp)} (x${count} over ${age(firstTimestamp)})` : age(lastTimestamp);
}

/** The event as the API would show it. */
export function eventDocument(event: PodEvent, node: string): Record<string, unknown> {
  const { ref, fieldPath, series, type, reason, message, count, firstTimestamp, lastTimestamp } = event;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${ref.name}.${series}`, namespace: ref.namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', ...ref, ...(fieldPath !== undefined && { fieldPath }) },
    ...{ type, reason, message, count, firstTimestamp, lastTimestamp },
    source: { component: 'kubelet', host: node },
    reportingComponent: 'kubelet',
    reportingInstance: node,
  };
}
