import { type Ledger, entryOf } from '../ledger.ts';
import type { Machine } from '../machine.ts';
import type { ContainerRequest } from '../request.ts';
import type { NodeMask } from '../topology/hint.ts';
import { maskOf } from '../topology/nodes.ts';

/** Bytes of memory of the pod's init containers that ended, by the mask of their nodes and the resource. */
export type ReusableMemory = Readonly<Record<string, number>>;

export function reusableOn(reusable: ReusableMemory, mask: NodeMask, resource: string): number {
  return reusable[keyOf(mask, resource)] ?? 0;
}

/** The memory that later containers of the pod may have, after this container has its own. */
export function nextReusableMemory(
  machine: Machine,
  ledger: Ledger,
  {
    uid,
    container,
    reusable,
  }: { readonly uid: string; readonly container: ContainerRequest; readonly reusable: ReusableMemory },
): ReusableMemory {
  const next: Record<string, number> = { ...reusable };
  for (const { numaAffinity, type, size } of entryOf(ledger.memory, uid, container.name) ?? []) {
    const key = keyOf(maskOf(machine, numaAffinity), type);
    const had = next[key] ?? 0;
    next[key] = container.kind === 'init' ? Math.max(had, size) : Math.max(0, had - size);
  }
  return next;
}

function keyOf(mask: NodeMask, resource: string): string {
  return `${mask} ${resource}`;
}
