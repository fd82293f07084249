import type { TestNode } from '@kubus/harness';
import { type NodeEvent, nodeEvent } from '@kubus/contracts';

/** Everything that was said on the node's bus, as it was sent. */
export function rawMessages(node: TestNode): string[] {
  return node.watch.messages.all.map(({ message }) => message.data);
}

/** What the node's operators were told, oldest first. */
export function nodeEventsOf(node: TestNode): NodeEvent[] {
  return node.watch.messages
    .ofType('runtime.event.nodeRecorded')
    .map(({ message }) => nodeEvent.payload.parse(JSON.parse(message.data)));
}
