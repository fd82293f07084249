import type { RecordedEvent } from '@kubus/causality';
import { formatAge } from '@kubus/pod';
import type { ApiObject } from '../resources/resource-type.ts';

/** kubectl's LAST SEEN: `5s`, or `5s (x3 over 2m)`. `now` in milliseconds since the Unix epoch. */
export function lastSeen(
  { count, firstTimestamp, lastTimestamp }: Pick<RecordedEvent, 'count' | 'firstTimestamp' | 'lastTimestamp'>,
  now: number,
): string {
  const age = (time: string) => formatAge(now - Date.parse(time));
  return count > 1 ? `${age(lastTimestamp)} (x${count} over ${age(firstTimestamp)})` : age(lastTimestamp);
}

/** The event as the Kubernetes API would show it. */
export function eventDocument(event: RecordedEvent, node: string): ApiObject & Readonly<Record<string, unknown>> {
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
