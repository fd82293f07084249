import type { TestNode } from '@kubus/harness';

/** Everything that was said on the node's bus, as it was sent. */
export function rawMessages(node: TestNode): string[] {
  return node.watch.messages.all.map(({ message }) => message.data);
}
