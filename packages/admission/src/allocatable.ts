import { type Quantity, type ResourceList, formatQuantity, parseQuantity } from '@kubus/contracts';

/**
 * What a node has for its pods: what it has, without what is kept for the system and the node's own processes, and memory
 * also without what is set aside as huge pages (kubelet behaviour 1.16). Never less than nothing.
 */
export function nodeAllocatable(capacity: ResourceList, reserved: readonly ResourceList[]): ResourceList {
  const hugepages = Object.entries(capacity).filter(([name]) => name.startsWith('hugepages-'));
  return Object.fromEntries(
    Object.entries(capacity).map(([name, text]) => {
      const kept = [
        ...reserved.map((list) => list[name] ?? '0'),
        ...(name === 'memory' ? hugepages.map(([, amount]) => amount) : []),
      ];
      const { nano, format } = quantity(text);
      const left = kept.reduce((rest, amount) => rest - quantity(amount).nano, nano);
      return [name, formatQuantity({ nano: left < 0n ? 0n : left, format })];
    }),
  );
}

function quantity(text: string): Quantity {
  return parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' };
}
