import type { RecordedMessage } from './recorded-message.ts';

export interface CausalNode {
  readonly recorded: RecordedMessage;
  readonly children: CausalNode[];
}

/** Each message under the cause that it waited for last; those whose causes are not among them are roots. */
export function causalTree(messages: readonly RecordedMessage[]): CausalNode[] {
  const nodes = new Map<string, CausalNode>();
  for (const [id, recorded] of byId(messages)) nodes.set(id, { recorded, children: [] });
  const roots: CausalNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.recorded.envelope.causes
      .map((id) => nodes.get(id))
      .find((one) => one !== undefined && one !== node);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

/** The same fact is published again after a connection was lost; the first time is when it was said. */
export function byId(messages: readonly RecordedMessage[]): Map<string, RecordedMessage> {
  const first = new Map<string, RecordedMessage>();
  for (const recorded of messages) {
    const { id } = recorded.envelope.cause;
    if (!first.has(id)) first.set(id, recorded);
  }
  return first;
}
