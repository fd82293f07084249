import type { NodeEvent, PodEvent } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod-manifest';
import type { JsonObject } from './status-patch.ts';

/** An Event of core/v1 about something that the node tells. */
export interface ApiEvent {
  readonly namespace: string;
  readonly name: string;
  /** The object as it is created. */
  readonly object: JsonObject;
  /** The strategic merge patch that makes an earlier event of the series this one. */
  readonly patch: JsonObject;
}

/** The longest name of an object. */
const NAME_LENGTH = 253;
/** Where events about objects without a namespace are. */
const DEFAULT_NAMESPACE = 'default';

/**
 * The Event as the reference writes it (client-go tools/record; kubelet behaviour 4). Its name is made of the object's and
 * of the time at which the series began in nanoseconds. The node's times are in milliseconds, so the rest is made of the
 * series' identity: the same series always has the same name, also after a restart, and a creation whose answer was lost
 * makes no second one.
 *
 * @param resourceVersion of the pod, where it is known
 */
export function apiEvent(told: PodEvent | NodeEvent, node: string, resourceVersion?: string): ApiEvent {
  const about = involved(told, resourceVersion);
  const namespace = 'ref' in told ? told.ref.namespace : DEFAULT_NAMESPACE;
  const name = eventName(about.name, told);
  const [firstTimestamp, lastTimestamp] = [wholeSeconds(told.firstTimestamp), wholeSeconds(told.lastTimestamp)];
  return {
    namespace,
    name,
    object: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name },
      involvedObject: about,
      ...{ type: told.type, reason: told.reason, message: told.message, count: told.count },
      ...{ firstTimestamp, lastTimestamp },
      source: { component: 'kubelet', host: node },
      reportingComponent: 'kubelet',
      reportingInstance: node,
    },
    patch: { count: told.count, lastTimestamp, message: told.message },
  };
}

function involved(told: PodEvent | NodeEvent, resourceVersion: string | undefined) {
  if ('node' in told) return { apiVersion: 'v1', kind: 'Node', name: told.node };
  const { ref, fieldPath } = told;
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: ref.namespace, name: ref.name, uid: ref.uid },
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(fieldPath !== undefined && { fieldPath }),
  };
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
