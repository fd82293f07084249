import { z } from 'zod';
import type { Block, Ledger, MemoryTable, NodeMemory } from '../ledger.ts';
import { checksum, mapText, sortedMap } from './checksum.ts';
import { type CheckpointProblem, acceptedCheckpoint } from './parse.ts';

const bytes = z.int().nonnegative();
const nodes = z.array(z.int().nonnegative()).max(64);
const file = z.object({
  policyName: z.string(),
  machineState: z.record(
    z.string().regex(/^\d+$/),
    z.object({
      numberOfAssignments: z.int(),
      memoryMap: z.record(
        z.string(),
        z.object({ total: bytes, systemReserved: bytes, allocatable: bytes, reserved: bytes, free: bytes }),
      ),
      cells: nodes,
    }),
  ),
  entries: z
    .record(z.string(), z.record(z.string(), z.array(z.object({ numaAffinity: nodes, type: z.string(), size: bytes }))))
    .default({}),
  checksum: z.int().nonnegative(),
});
type MemoryFile = z.infer<typeof file>;

/** The part of a ledger that the memory manager keeps. */
export type MemoryLedger = Pick<Ledger, 'nodes' | 'memory'>;

/** The text of the reference kubelet's checkpoint `memory_manager_state` (1.36, version 1). */
export function memoryCheckpoint(policyName: string, { nodes: machine, memory }: MemoryLedger): string {
  const machineState = sortedMap(machine, ({ numberOfAssignments, memoryMap, cells }) => ({
    numberOfAssignments,
    memoryMap: sortedMap(memoryMap, ({ total, systemReserved, allocatable, reserved, free }) => ({
      total,
      systemReserved,
      allocatable,
      reserved,
      free,
    })),
    cells,
  }));
  const entries = sortedMap(memory, (containers) =>
    sortedMap(containers, (blocks) => blocks.map(({ numaAffinity, type, size }) => ({ numaAffinity, type, size }))),
  );
  const isEmpty = Object.keys(entries).length === 0;
  const sum = checksum(textOf({ policyName, machineState: machine, entries: memory }, ''));
  return JSON.stringify({ policyName, machineState, ...(!isEmpty && { entries }), checksum: sum });
}

const kind = {
  schema: file,
  manager: 'memory',
  prefix: '[memorymanager] ',
  sums: (content: MemoryFile) => [checksum(textOf(content, '')), checksum(textOf(content, 'V1'))],
};

/** What a checkpoint has, or why the reference kubelet does not start with it. `path` is named in the problem. */
export function parseMemoryCheckpoint(
  text: string,
  expected: { readonly policyName: string; readonly path: string },
): MemoryLedger | CheckpointProblem {
  return acceptedCheckpoint(kind, { text, ...expected }, ({ machineState, entries }) => ({
    nodes: machineState,
    memory: entries,
  }));
}

interface Content {
  readonly policyName: string;
  readonly machineState: Ledger['nodes'];
  readonly entries: Ledger['memory'];
}

/** As the reference kubelet's structure looks as text; `version` is a part of its name in some of its versions. */
function textOf({ policyName, machineState, entries }: Content | MemoryFile, version: '' | 'V1'): string {
  const machine = `(state.NUMANodeMap)${mapText<NodeMemory>(machineState, nodeText)}`;
  const all = mapText<Readonly<Record<string, readonly Block[]>>>(entries, (containers) =>
    mapText(containers, (blocks) => `[${blocks.map(blockText).join(' ')}]`),
  );
  const rest = `Entries:(state.ContainerMemoryAssignments)${all} Checksum:(checksum.Checksum)0`;
  return `(*state.MemoryManagerCheckpoint${version}){PolicyName:(string)${policyName} MachineState:${machine} ${rest}}`;
}

function nodeText({ numberOfAssignments, memoryMap, cells }: NodeMemory): string {
  const tables = `(map[v1.ResourceName]*state.MemoryTable)${mapText(memoryMap, tableText)}`;
  return `<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:${tables} Cells:([]int)[${cells.join(' ')}]}`;
}

function tableText({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  const amounts = { TotalMemSize: total, SystemReserved: systemReserved, Allocatable: allocatable };
  const fields = Object.entries({ ...amounts, Reserved: reserved, Free: free });
  return `<*>{${fields.map(([name, amount]) => `${name}:(uint64)${amount}`).join(' ')}}`;
}

function blockText({ numaAffinity, type, size }: Block): string {
  return `{NUMAAffinity:([]int)[${numaAffinity.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}
