import { formatTable, indent } from '../output/table.ts';
import { type RecordedEvent } from '@kubus/causality';
import { lastSeen } from '../pods/event-document.ts';

/** The events at the end of a description. @param now milliseconds since the Unix epoch */
export function describeEvents(events: readonly RecordedEvent[], now: number): string[] {
  if (events.length === 0) return ['Events:         <none>'];
  const rows = events.map((event) => [event.type, event.reason, lastSeen(event, now), event.from, event.message]);
  return ['Events:', indent(formatTable(['TYPE', 'REASON', 'AGE', 'FROM', 'MESSAGE'], rows))];
}
