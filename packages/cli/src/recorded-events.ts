import { type RecordedMessage, type StoredMessage, recordedMessage } from '@kubus/causality';
import { type NodeEvent, type PodEvent, nodeEventSchema, podEventSchema } from '@kubus/contracts';
import { formatAge } from './table.ts';

/** Where the events of all publishers about pods are, and those about the node: relative to the node's subjects. */
export const eventSubjects = ['*.event.recorded.*', '*.event.nodeRecorded.*'] as const;

/** The same for the events about the pod of a UID. */
export const eventsOf = (uid: string) => `*.event.recorded.${uid}`;

/** What an event is about. A Node is in no namespace; its events are in the default one, as in a cluster. */
export interface EventObject {
  readonly kind: 'Pod' | 'Node';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly fieldPath?: string | undefined;
}

/** An event with what it is about and the instance that told it. */
export interface ToldEvent extends Omit<PodEvent, 'ref' | 'fieldPath'> {
  readonly object: EventObject;
  readonly from: string;
}

/** Undefined for a message that is no such event, such as one of another version. */
export function toldEvent({ message, envelope }: RecordedMessage): ToldEvent | undefined {
  const event = parseEvent(JSON.parse(message.data));
  return event === undefined ? undefined : { ...event, from: envelope.source };
}

function parseEvent(data: unknown): Omit<ToldEvent, 'from'> | undefined {
  const ofPod = podEventSchema.safeParse(data);
  if (ofPod.success) return ofPodEvent(ofPod.data);
  const ofNode = nodeEventSchema.safeParse(data);
  return ofNode.success ? ofNodeEvent(ofNode.data) : undefined;
}

function ofPodEvent({ ref, fieldPath, ...event }: PodEvent): Omit<ToldEvent, 'from'> {
  return { ...event, object: { kind: 'Pod', ...ref, ...(fieldPath !== undefined && { fieldPath }) } };
}

function ofNodeEvent({ node, ...event }: NodeEvent): Omit<ToldEvent, 'from'> {
  return { ...event, object: { kind: 'Node', namespace: 'default', name: node, uid: node } };
}

/** The newest of each series, the one that happened last at the end. `messages` in the order of the broker. */
export function newestEvents(messages: Iterable<Pick<StoredMessage, 'message'>>): ToldEvent[] {
  const newest = new Map<string, ToldEvent>();
  for (const { message } of messages) {
    const recorded = recordedMessage(message);
    const event = recorded && toldEvent(recorded);
    if (event !== undefined) newest.set(event.series, event);
  }
  return [...newest.values()].sort((a, b) => Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp));
}

/** When an event was seen, as kubectl says it: `5s`, or `5s (x3 over 2m)`. */
export function lastSeen(
  { count, firstTimestamp, lastTimestamp }: Pick<ToldEvent, 'count' | 'firstTimestamp' | 'lastTimestamp'>,
  now: number,
): string {
  const age = (time: string) => formatAge(now - Date.parse(time));
  return count > 1 ? `${age(lastTimestamp)} (x${count} over ${age(firstTimestamp)})` : age(lastTimestamp);
}

/** The event as the API would show it. */
export function eventDocument(event: ToldEvent, node: string): Record<string, unknown> {
  const { object, series, type, reason, message, count, firstTimestamp, lastTimestamp } = event;
  const { kind, namespace, name, uid, fieldPath } = object;
  const involved = kind === 'Pod' ? { namespace, name, uid } : { name, uid };
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${series}`, namespace },
    involvedObject: { apiVersion: 'v1', kind, ...involved, ...(fieldPath !== undefined && { fieldPath }) },
    ...{ type, reason, message, count, firstTimestamp, lastTimestamp },
    source: { component: 'kubelet', host: node },
    reportingComponent: 'kubelet',
    reportingInstance: node,
  };
}
