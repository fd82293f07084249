import { z } from 'zod';
import type { Block, Ledger, MemoryTable, NodeMemory } from '../ledger.ts';
import { checksum, mapText, sortedMap } from './checksum.ts';
import { type CheckpointProblem, acceptedCheckpoint } from './parse.ts';

const bytes = z.int().nonnegative();
const nodes = z.array(z.int().nonnegative()).max(64);
const blocks = z.array(z.object({ numaAffinity: nodes, type: z.string(), size: bytes }));
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
  entries: z.record(z.string(), z.record(z.string(), blocks)).default({}),
  podEntries: z.record(z.string(), z.object({ memoryBlocks: blocks.default([]) })).default({}),
  checksum: z.int().nonnegative(),
});
type MemoryFile = z.infer<typeof file>;

/** The part of a ledger that the memory manager keeps. */
export type MemoryLedger = Pick<Ledger, 'nodes' | 'memory' | 'podMemory'>;

/**
 * The text of the reference kubelet's checkpoint `memory_manager_state` (1.36, version 1; with the gate PodLevelResourceManagers version 2,
 * which has what pods have as a whole).
 */
export function memoryCheckpoint(
  policyName: string,
  { nodes: machine, memory, podMemory }: MemoryLedger,
  podLevel = false,
): string {
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
  const written = (all: readonly Block[]) => all.map(({ numaAffinity, type, size }) => ({ numaAffinity, type, size }));
  const entries = sortedMap(memory, (containers) => sortedMap(containers, written));
  // The reference leaves out a list without blocks here.
  const podEntries = sortedMap(podMemory, (all) => (all.length === 0 ? {} : { memoryBlocks: written(all) }));
  const content = { policyName, machineState: machine, entries: memory };
  const pods = sortedMap(podMemory, (memoryBlocks) => ({ memoryBlocks }));
  const sum = checksum(podLevel ? podTextOf({ ...content, podEntries: pods }) : textOf(content, ''));
  return JSON.stringify({
    ...{ policyName, machineState },
    ...(Object.keys(entries).length > 0 && { entries }),
    ...(podLevel && Object.keys(podEntries).length > 0 && { podEntries }),
    checksum: sum,
  });
}

const kind = { schema: file, manager: 'memory', prefix: '[memorymanager] ' };

/** With the gate, a file that was written without it is accepted, too; the other way round it is not. */
const sums = {
  old: (content: MemoryFile) => [checksum(textOf(content, '')), checksum(textOf(content, 'V1'))],
  podLevel: (content: MemoryFile) => [checksum(podTextOf(content)), checksum(textOf(content, ''))],
};

/** What a checkpoint has, or why the reference kubelet does not start with it. `path` is named in the problem. */
export function parseMemoryCheckpoint(
  text: string,
  expected: { readonly policyName: string; readonly path: string; readonly podLevel?: boolean },
): MemoryLedger | CheckpointProblem {
  const { podLevel = false } = expected;
  const checked = { ...kind, sums: podLevel ? sums.podLevel : sums.old };
  return acceptedCheckpoint(checked, { text, ...expected }, ({ machineState, entries, podEntries }) => {
    const pods = podLevel ? Object.entries(podEntries) : [];
    const podMemory = Object.fromEntries(pods.map(([uid, { memoryBlocks }]) => [uid, memoryBlocks]));
    return { nodes: machineState, memory: entries, podMemory };
  });
}

interface Content {
  readonly policyName: string;
  readonly machineState: Ledger['nodes'];
  readonly entries: Ledger['memory'];
}

interface PodContent extends Content {
  readonly podEntries: Readonly<Record<string, { readonly memoryBlocks: readonly Block[] }>>;
}

/** As the reference kubelet's structure looks as text; `version` is a part of its name in some of its versions. */
function textOf(content: Content, version: '' | 'V1'): string {
  return `(*state.MemoryManagerCheckpoint${version}){${fieldsText(content)} Checksum:(checksum.Checksum)0}`;
}

/** As {@link textOf}, with what pods have as a whole. */
function podTextOf(content: PodContent): string {
  const pods = mapText(content.podEntries, ({ memoryBlocks }) => {
    return `{MemoryBlocks:([]state.Block)${blocksText(memoryBlocks)}}`;
  });
  const podFields = `PodEntries:(state.PodMemoryAssignments)${pods}`;
  return `(*state.MemoryManagerCheckpoint){${fieldsText(content)} ${podFields} Checksum:(checksum.Checksum)0}`;
}

function fieldsText({ policyName, machineState, entries }: Content): string {
  const machine = `(state.NUMANodeMap)${mapText<NodeMemory>(machineState, nodeText)}`;
  const all = mapText<Readonly<Record<string, readonly Block[]>>>(entries, (containers) =>
    mapText(containers, blocksText),
  );
  return `PolicyName:(string)${policyName} MachineState:${machine} Entries:(state.ContainerMemoryAssignments)${all}`;
}

function blocksText(all: readonly Block[]): string {
  return `[${all.map(blockText).join(' ')}]`;
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
