import { type Block, type Ledger, entryOf, wholeOf, withEntry } from '../ledger.ts';
import { emptyMemoryPool } from '../empty-pool.ts';
import { type ContainerRequest, type PodRequest, type WholePod, hasMemory, memorySum } from '../request.ts';
import type { Affinity } from '../topology/hint.ts';
import { nodesOf } from '../topology/nodes.ts';
import { type MemoryPolicy, type NoMemory, blocksOn, chosenNodes, reservedOn } from './policy.ts';

type Amounts = Readonly<Record<string, number>>;

/**
 * The ledger with the memory of a pod that gets it as a whole, and with that of its containers, which is a part of it. A pod and containers
 * that have memory keep it.
 */
export function allocatedPodMemory(
  policy: MemoryPolicy,
  ledger: Ledger,
  { pod, whole, affinity }: { readonly pod: PodRequest; readonly whole: WholePod; readonly affinity: Affinity },
): Ledger | NoMemory {
  const had = wholeOf(ledger.podMemory, pod.uid);
  if (had !== undefined) return divided(ledger, pod, had);
  const problem = emptyMemoryPool(pod, whole);
  if (problem !== undefined) return { reason: 'EmptyPodSharedPoolError', problem };
  const chosen = chosenNodes(policy, ledger, { requested: whole.memory, affinity, reusable: {} });
  if ('problem' in chosen) return chosen;
  const blocks = blocksOn(nodesOf(policy.machine, chosen.mask), whole.memory);
  let { nodes } = ledger;
  for (const block of blocks) nodes = reservedOn(nodes, block);
  return divided({ ...ledger, nodes, podMemory: { ...ledger.podMemory, [pod.uid]: blocks } }, pod, blocks);
}

/**
 * Divides a pod's memory: each container that requests some has it for itself, the others share the rest. Init containers that end share
 * all that no sidecar before them has.
 */
function divided(ledger: Ledger, { uid, containers }: PodRequest, all: readonly Block[]): Ledger {
  const [{ numaAffinity } = { numaAffinity: [] }] = all;
  const without = (others: readonly ContainerRequest[]): Amounts =>
    Object.fromEntries(all.map(({ type, size }) => [type, Math.max(0, size - memorySum(others, type))]));
  const rest = without(containers.filter(({ kind }) => kind !== 'init'));
  const amountsOf = ({ kind, memory = {} }: ContainerRequest, at: number): Amounts => {
    if (hasMemory(memory)) return memory;
    if (kind !== 'init') return rest;
    return without(containers.slice(0, at).filter((one) => one.kind === 'sidecar'));
  };
  let { memory } = ledger;
  for (const [at, container] of containers.entries()) {
    if (entryOf(memory, uid, container.name) !== undefined) continue;
    const some = Object.entries(amountsOf(container, at)).filter(([, size]) => size > 0);
    memory = withEntry(memory, uid, container.name, blocksOn(numaAffinity, Object.fromEntries(some)));
  }
  return { ...ledger, memory };
}
