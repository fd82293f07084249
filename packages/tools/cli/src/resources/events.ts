import { formatAge } from '@kubus/pod';
import { readEvents } from '../pods/event-feed.ts';
import { type RecordedEvent } from '@kubus/causality';
import { eventDocument } from '../pods/event-document.ts';
import type { Item, ResourceType } from './resource-type.ts';

export const events: ResourceType = {
  name: 'events',
  singular: 'event',
  shortNames: ['ev'],
  apiVersion: 'v1',
  kind: 'Event',
  isNamespaced: true,
  about: 'the Kubernetes events of pods and of the node, from the node’s record',
  columns: [
    { title: 'LAST SEEN', isAge: true },
    { title: 'TYPE' },
    { title: 'REASON' },
    { title: 'OBJECT' },
    { title: 'SUBOBJECT', isWide: true },
    { title: 'SOURCE', isWide: true },
    { title: 'MESSAGE' },
    { title: 'FIRST SEEN', isWide: true, isAge: true },
    { title: 'COUNT', isWide: true },
    { title: 'NAME', isWide: true, isName: true },
  ],
  fields: [
    ...['metadata.name', 'metadata.namespace', 'type', 'reason', 'reportingComponent'],
    ...['kind', 'namespace', 'name', 'uid', 'fieldPath', 'apiVersion'].map((field) => `involvedObject.${field}`),
  ],
  open: async (link, onChange) => {
    const newest = new Map<string, RecordedEvent>();
    const recorded = await readEvents(link, (event) => {
      newest.set(event.series, event);
      onChange(event.series);
    });
    for (const event of recorded) newest.set(event.series, event);
    return { items: () => [...newest.values()].map((event) => eventItem(event, link.bus.node)) };
  },
};

/** An event with kubectl's cells (pkg/printers/internalversion/printers.go, printEvent). */
export function eventItem(event: RecordedEvent, node: string): Item {
  const { object, series, type, reason, message, count, firstTimestamp, lastTimestamp } = event;
  const age = (time: string, now: number) => formatAge(now - Date.parse(time));
  return {
    key: series,
    object: eventDocument(event, node),
    cells: (now) => [
      age(lastTimestamp, now),
      type,
      reason,
      `${object.kind.toLowerCase()}/${object.name}`,
      object.fieldPath ?? '',
      `kubelet, ${node}`,
      message.trim(),
      age(firstTimestamp, now),
      String(count),
      `${object.name}.${series}`,
    ],
  };
}
