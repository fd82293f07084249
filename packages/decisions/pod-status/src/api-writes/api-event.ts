import type { NodeEvent, PodEvent } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod';
import type { JsonObject } from './status-patch.ts';

/** A core/v1 Event that represents an event of the node. */
export interface ApiEvent {
  readonly namespace: string;
  readonly name: string;
  /** The object in the form in which it is created. */
  readonly object: JsonObject;
  /** The strategic merge patch that updates an earlier event of the series to this one. */
  readonly patch: JsonObject;
}

/** The maximum length of an object's name. */
const NAME_LENGTH = 253;
/** The namespace of events about objects without a namespace. */
const DEFAULT_NAMESPACE = 'default';

/**
 * The Event in the reference's form (client-go tools/record; behaviour:events). Its name consists of the object's name and
 * the time in nanoseconds at which the series began. The node's times are in milliseconds; the remaining digits come from the
 * series' identity: a series always has the same name, even after a restart, and a creation whose response was lost
 * does not create a second Event.
 *
 * @param resourceVersion of the pod, where it is known
 */
export function apiEvent(event: PodEvent | NodeEvent, node: string, resourceVersion?: string): ApiEvent {
  const about = involved(event, resourceVersion);
  const namespace = 'ref' in event ? event.ref.namespace : DEFAULT_NAMESPACE;
  const name = eventName(about.name, event);
  const [firstTimestamp, lastTimestamp] = [wholeSeconds(event.firstTimestamp), wholeSeconds(event.lastTimestamp)];
  return {
    namespace,
    name,
    object: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name, ...annotationsOf(event) },
      involvedObject: about,
      ...{ type: event.type, reason: event.reason, message: event.message, count: event.count },
      ...{ firstTimestamp, lastTimestamp },
      source: { component: 'kubelet', host: node },
      reportingComponent: 'kubelet',
      reportingInstance: node,
    },
    patch: { count: event.count, lastTimestamp, message: event.message },
  };
}

function involved(event: PodEvent | NodeEvent, resourceVersion: string | undefined) {
  if ('node' in event) return { apiVersion: 'v1', kind: 'Node', name: event.node };
  const { ref, fieldPath } = event;
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: ref.namespace, name: ref.name, uid: ref.uid },
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(fieldPath !== undefined && { fieldPath }),
  };
}

function annotationsOf(event: PodEvent | NodeEvent): { annotations?: PodEvent['annotations'] } {
  return 'ref' in event && event.annotations !== undefined ? { annotations: event.annotations } : {};
}

function eventName(object: string, { firstTimestamp, series }: PodEvent | NodeEvent): string {
  const fraction = BigInt(`0x${fnv128a(series)}`) % 1_000_000n;
  const nanos = BigInt(Date.parse(firstTimestamp)) * 1_000_000n + fraction;
  const end = `.${nanos.toString(16)}`;
  return object.slice(0, NAME_LENGTH - end.length).replace(/[-.]+$/, '') + end;
}

function wholeSeconds(time: string): string {
  return `${time.slice(0, 19)}Z`;
}
