import type { MessageBrief } from '@kubus/contracts/observatory';

export interface CausalNode {
  readonly message: MessageBrief;
  readonly children: CausalNode[];
}

/** Each message under its last awaited cause; messages whose causes are not among them are roots. */
export function causalTree(messages: Iterable<MessageBrief>): CausalNode[] {
  const nodes = new Map<string, CausalNode>();
  // A fact is published again after a lost connection; the first time counts.
  for (const message of messages) if (!nodes.has(message.id)) nodes.set(message.id, { message, children: [] });
  const roots: CausalNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.message.causes.map((id) => nodes.get(id)).find((one) => one !== undefined && one !== node);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}
