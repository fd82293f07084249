import type { TestNode } from '@kubus/harness';

/** The text of every message on the node's bus. */
export function rawMessages(node: TestNode): string[] {
  return node.watch.messages.all.map(({ message }) => message.data);
}
