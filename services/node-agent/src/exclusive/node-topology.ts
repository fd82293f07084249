import type { NodeTopology } from '@kubus/contracts';
import {
  type ExclusiveSettings,
  type ExclusiveSetup,
  type Ledger,
  cpuSet,
  cpuSetText,
  descriptionOf,
} from '@kubus/exclusive';
import type { FoundMachine } from '@kubus/machine-topology';

/** The machine, and what of it containers have for themselves; nothing without a ledger. */
export function nodeTopologyOf(
  { machine, offline, isolated }: FoundMachine,
  settings: ExclusiveSettings,
  given?: { readonly setup: ExclusiveSetup; readonly ledger: Ledger },
): NodeTopology {
  const { sockets, nodes, cores = [], caches = [] } = descriptionOf(machine);
  return {
    machine: {
      sockets,
      nodes: nodes.map(({ distances = [], hugePages = [], ...node }) => ({ ...node, distances, hugePages })),
      ...{ cores, caches, offline: cpuSetText(offline), isolated: cpuSetText(isolated) },
    },
    policies: {
      ...{ cpu: settings.cpuManagerPolicy, memory: settings.memoryManagerPolicy },
      ...{ topology: settings.topologyManagerPolicy, scope: settings.topologyManagerScope },
    },
    ...(given?.setup.cpu !== undefined && {
      reserved: cpuSetText(given.setup.cpu.reserved),
      shared: cpuSetText(given.ledger.shared),
    }),
    memory: Object.entries(given?.ledger.nodes ?? {}).flatMap(([node, { memoryMap }]) =>
      Object.entries(memoryMap).map(([resource, { allocatable, free }]) => {
        return { node: Number(node), resource, allocatable, free };
      }),
    ),
    containers: given === undefined ? [] : containersOf(given.ledger),
  };
}

function containersOf({ cpus, memory }: Ledger): NodeTopology['containers'] {
  const uids = [...new Set([...Object.keys(cpus), ...Object.keys(memory)])].toSorted();
  return uids.flatMap((uid) => {
    const names = new Set([...Object.keys(cpus[uid] ?? {}), ...Object.keys(memory[uid] ?? {})]);
    return [...names].toSorted().flatMap((name) => {
      const own = cpus[uid]?.[name];
      const blocks = memory[uid]?.[name] ?? [];
      if (own === undefined && blocks.length === 0) return [];
      const shown = {
        ...{ uid, name },
        ...(own !== undefined && { cpus: cpuSetText(own) }),
        memory: blocks.map(({ numaAffinity, type: resource, size: bytes }) => {
          return { nodes: cpuSetText(cpuSet(numaAffinity)), resource, bytes };
        }),
      };
      return [shown];
    });
  });
}
