import { z } from 'zod';
import { type CpuSet, cpuSet, cpuSetText, parseCpuSet } from './cpu-set.ts';
import { type Cpu, type Machine, cpusBy } from './machine.ts';

const number = z.int().nonnegative().max(65_535);
const cpuList = z
  .string()
  .max(100_000)
  .refine((text) => parseCpuSet(text) !== undefined, 'not a list of CPUs such as 0-3,8');
const place = z.strictObject({ id: number, cpus: cpuList });

/** A machine as a file describes it. */
export const machineDescription = z.strictObject({
  apiVersion: z.literal('kubus.dev/v1'),
  kind: z.literal('Machine'),
  /** All CPUs that are online. */
  sockets: z.array(place).min(1).max(1024),
  nodes: z
    .array(
      z.strictObject({
        ...place.shape,
        /** Bytes. */
        memory: z.int().nonnegative(),
        /** To each node, in their order; without them each node is as far from itself as from others. */
        distances: z.array(z.int().positive()).max(1024).default([]),
        hugePages: z
          .array(z.strictObject({ size: z.int().positive(), count: z.int().nonnegative() }))
          .max(16)
          .default([]),
      }),
    )
    .min(1)
    .max(1024),
  /** CPUs that share a core; others are cores of their own. */
  cores: z.array(cpuList).max(65_536).default([]),
  /** Last-level caches that a part of a NUMA node shares. */
  caches: z.array(place).max(65_536).default([]),
});
export type MachineDescription = z.input<typeof machineDescription>;

/** The machine, or why the description contradicts itself: the field, and what is wrong. */
export function describedMachine(
  description: z.output<typeof machineDescription>,
): Machine | { readonly problem: string } {
  const { sockets, nodes, cores, caches } = description;
  const ids = cpuSet(sockets.flatMap(({ cpus }) => setOf(cpus)));
  if (ids.length === 0) return { problem: 'sockets: no CPU' };
  const [socketOf, nodeOf, cacheOf] = [placesOf(sockets), placesOf(nodes), placesOf(caches)];
  const coreOf = placesOf(cores.map((cpus) => ({ id: setOf(cpus)[0] ?? 0, cpus })));
  for (const [field, { twice, by }] of Object.entries({
    sockets: socketOf,
    nodes: nodeOf,
    cores: coreOf,
    caches: cacheOf,
  })) {
    if (twice !== undefined) return { problem: `${field}: CPU ${twice} is in two of them` };
    const unknown = [...by.keys()].find((id) => !socketOf.by.has(id));
    if (unknown !== undefined) return { problem: `${field}: CPU ${unknown} is in none of sockets` };
  }
  const lost = ids.find((id) => !nodeOf.by.has(id));
  if (lost !== undefined) return { problem: `nodes: CPU ${lost} is in none of them` };
  const uneven = nodes.find(({ distances }) => distances.length > 0 && distances.length !== nodes.length);
  if (uneven !== undefined)
    return { problem: `nodes: node ${uneven.id} has distances to ${uneven.distances.length} of ${nodes.length} nodes` };
  const at = (by: ReadonlyMap<number, number>, id: number, otherwise: number) => by.get(id) ?? otherwise;
  const cpus = ids.map((id): Cpu => {
    const socket = at(socketOf.by, id, 0);
    return { id, core: at(coreOf.by, id, id), socket, node: at(nodeOf.by, id, 0), cache: at(cacheOf.by, id, socket) };
  });
  return {
    cpus,
    sockets: sockets.length,
    nodes: nodes
      .map(({ id, memory, distances, hugePages }) => ({ id, memory, distances, hugePages }))
      .toSorted((a, b) => a.id - b.id),
  };
}

/** The description of a machine; what is given by default is left out. */
export function descriptionOf(machine: Machine): MachineDescription {
  const { cpus, nodes } = machine;
  const places = (unit: 'socket' | 'node' | 'cache') =>
    [...cpusBy(cpus, unit)].map(([id, set]) => ({ id, cpus: cpuSetText(set) })).toSorted((a, b) => a.id - b.id);
  const onNode = new Map(places('node').map(({ id, cpus: set }) => [id, set]));
  const cores = [...cpusBy(cpus, 'core').values()].filter((set) => set.length > 1).map(cpuSetText);
  const isSplit = cpus.some(({ cache, socket }) => cache !== socket);
  return {
    apiVersion: 'kubus.dev/v1',
    kind: 'Machine',
    sockets: places('socket'),
    nodes: nodes.map((node) => ({
      ...node,
      distances: [...node.distances],
      hugePages: [...node.hugePages],
      cpus: onNode.get(node.id) ?? '',
    })),
    ...(cores.length > 0 && { cores }),
    ...(isSplit && { caches: places('cache') }),
  };
}

function setOf(text: string): CpuSet {
  return parseCpuSet(text) ?? [];
}

/** The place of each CPU, and one that has two. */
function placesOf(places: readonly { readonly id: number; readonly cpus: string }[]): {
  readonly by: ReadonlyMap<number, number>;
  readonly twice: number | undefined;
} {
  const by = new Map<number, number>();
  let twice: number | undefined;
  for (const { id, cpus } of places) {
    for (const cpu of setOf(cpus)) {
      if (by.has(cpu)) twice ??= cpu;
      by.set(cpu, id);
    }
  }
  return { by, twice };
}
