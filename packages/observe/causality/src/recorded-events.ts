import type { StoredMessage } from '@kubus/bus';
import { type NodeEvent, type PodEvent, nodeEventSchema, podEventSchema } from '@kubus/contracts';
import { type RecordedMessage, recordedMessage } from './recorded-message.ts';
import { payloadOf } from './summary.ts';

/** Subjects, relative to the node's, of the Kubernetes events of all services: about pods, and about the node. */
export const eventSubjects = ['*.event.recorded.*', '*.event.nodeRecorded.*'] as const;

/** The subject of the Kubernetes events about one pod, by its UID. */
export const eventsOf = (uid: string) => `*.event.recorded.${uid}`;

/** The object of an event. A Node has no namespace; its events are in `default`, as in a cluster. */
export interface EventObject {
  readonly kind: 'Pod' | 'Node';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly fieldPath?: string | undefined;
}

/** A Kubernetes event with its object and the instance that published it. */
export interface RecordedEvent extends Omit<PodEvent, 'ref' | 'fieldPath'> {
  readonly object: EventObject;
  readonly from: string;
}

/** The event in a message; undefined for any other message, or one of another version. */
export function recordedEvent({ message, envelope }: RecordedMessage): RecordedEvent | undefined {
  const event = parseEvent(payloadOf(message));
  return event === undefined ? undefined : { ...event, from: envelope.source };
}

function parseEvent(data: unknown): Omit<RecordedEvent, 'from'> | undefined {
  const ofPod = podEventSchema.safeParse(data);
  if (ofPod.success) return ofPodEvent(ofPod.data);
  const ofNode = nodeEventSchema.safeParse(data);
  return ofNode.success ? ofNodeEvent(ofNode.data) : undefined;
}

function ofPodEvent({ ref, fieldPath, ...event }: PodEvent): Omit<RecordedEvent, 'from'> {
  return { ...event, object: { kind: 'Pod', ...ref, ...(fieldPath !== undefined && { fieldPath }) } };
}

function ofNodeEvent({ node, ...event }: NodeEvent): Omit<RecordedEvent, 'from'> {
  return { ...event, object: { kind: 'Node', namespace: 'default', name: node, uid: node } };
}

/** The newest event of each series, sorted by time, the latest last. `messages` in the order in which NATS stored them. */
export function newestEvents(messages: Iterable<Pick<StoredMessage, 'message'>>): RecordedEvent[] {
  const newest = new Map<string, RecordedEvent>();
  for (const { message } of messages) {
    const recorded = recordedMessage(message);
    const event = recorded && recordedEvent(recorded);
    if (event !== undefined) newest.set(event.series, event);
  }
  return [...newest.values()].sort((a, b) => Date.parse(a.lastTimestamp) - Date.parse(b.lastTimestamp));
}
