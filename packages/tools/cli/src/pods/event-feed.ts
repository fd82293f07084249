import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { recordedMessage } from '@kubus/causality';
import type { NodeLink } from '../node/node-link.ts';
import { type RecordedEvent, eventSubjects, newestEvents, recordedEvent } from '@kubus/causality';

/** The newest Kubernetes event of each series, from the node's record; `onEvent` is called for later ones. */
export async function readEvents(link: NodeLink, onEvent?: (event: RecordedEvent) => void): Promise<RecordedEvent[]> {
  const early: RecordedEvent[] = [];
  let take = (event: RecordedEvent) => void early.push(event);
  // Before the record is read, so that no event is missed in between.
  if (onEvent !== undefined) follow(link, (event) => take(event));
  const recorded = await Promise.all(eventSubjects.map((subject) => link.record(subject)));
  const events = newestEvents(recorded.flat());
  if (onEvent === undefined) return events;
  const known = new Map(events.map(({ series, count }) => [series, count]));
  take = (event) => {
    if (event.count > (known.get(event.series) ?? 0)) onEvent(event);
  };
  // After the caller has what this function returns.
  queueMicrotask(() => early.forEach((event) => take(event)));
  return events;
}

function follow(link: NodeLink, onEvent: (event: RecordedEvent) => void): void {
  for (const subject of eventSubjects) {
    link.connection.subscribe(nodeSubject(link.bus.node, subject), {
      callback: (error, wire) => {
        const recorded = error === null ? recordedMessage(fromNats(wire)) : undefined;
        const event = recorded && recordedEvent(recorded);
        if (event !== undefined) onEvent(event);
      },
    });
  }
}
