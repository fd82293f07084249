import { type Cpu, type CpuSet, type Machine, cpuSet } from '@kubus/exclusive';
import { namesIn } from '@kubus/filesystem';
import { join } from 'node:path';
import { MachineError } from './machine-error.ts';
import { SysFolder } from './sys-folder.ts';

/** A machine as the kernel shows it. */
export interface FoundMachine {
  readonly machine: Machine;
  /** CPUs that are there and switched off. */
  readonly offline: CpuSet;
  /** CPUs on which the kernel puts processes only if they ask for it (kernel parameter `isolcpus`). They are among the machine's. */
  readonly isolated: CpuSet;
  /** A core of the machine runs several threads now. */
  readonly smt: boolean;
}

/**
 * Reads CPUs, cores, sockets, last-level caches and NUMA nodes with their memory, huge pages and distances
 * (Documentation/ABI/stable/sysfs-devices-system-cpu and -node). A machine without NUMA has one node for each socket, whose memory is
 * not known.
 *
 * @param root `/sys`, or a folder like it
 * @throws MachineError, which names the file
 */
export async function readMachine(root = '/sys'): Promise<FoundMachine> {
  const cpuFolder = new SysFolder(join(root, 'devices/system/cpu'));
  const online = await cpuFolder.cpus('online');
  if (online.length === 0) throw new MachineError('no-cpus', `${cpuFolder.path}/online: no CPU`);
  const places = await Promise.all(online.map((id) => placeOf(cpuFolder.below(`cpu${id}`), id, online)));
  const nodes = await numaNodes(join(root, 'devices/system/node'), places);
  const cpus = places.map(({ id, core, socket, cache }): Cpu => {
    const node = nodes.find((one) => one.cpus.includes(id));
    const isPart = cache !== undefined && cache.cpus !== node?.cpus.length;
    return { id, core, socket, node: node?.id ?? 0, cache: isPart ? cache.id : socket };
  });
  const sockets = new Set(places.map(({ socket }) => socket)).size;
  return {
    machine: { cpus, sockets, nodes: nodes.map(({ cpus: _, ...node }) => node) },
    offline: await cpuFolder.cpus('offline', ''),
    isolated: await cpuFolder.cpus('isolated', ''),
    smt: new Set(places.map(({ core }) => core)).size < online.length,
  };
}

interface Place extends Pick<Cpu, 'id' | 'core' | 'socket'> {
  /** Its last-level cache, if the kernel shows one above the second level, and how many CPUs share it. */
  readonly cache: { readonly id: number; readonly cpus: number } | undefined;
}

type FoundNode = Machine['nodes'][number] & { readonly cpus: CpuSet };

async function placeOf(folder: SysFolder, id: number, online: CpuSet): Promise<Place> {
  const topology = folder.below('topology');
  const siblings = await topology.cpus('thread_siblings_list', String(id));
  const socket = Math.max(0, await topology.number('physical_package_id', 0));
  const core = siblings.find((sibling) => online.includes(sibling)) ?? id;
  return { id, core, socket, cache: await lastLevelCache(folder.below('cache'), socket) };
}

async function lastLevelCache(folder: SysFolder, socket: number): Promise<Place['cache']> {
  for (const name of await namesIn(folder.path)) {
    if (!/^index\d+$/.test(name)) continue;
    const cache = folder.below(name);
    if ((await cache.number('level', 0)) <= 2) continue;
    const cpus = await cache.cpus('shared_cpu_list', '');
    return { id: await cache.number('id', socket), cpus: cpus.length };
  }
  return undefined;
}

async function numaNodes(path: string, places: readonly Place[]): Promise<readonly FoundNode[]> {
  const folder = new SysFolder(path);
  const ids = await folder.cpus('online', '');
  if (ids.length === 0) return socketNodes(places);
  const known = new Set(places.map(({ id }) => id));
  return Promise.all(
    ids.map(async (id) => {
      const node = folder.below(`node${id}`);
      const cpus = (await node.cpus('cpulist')).filter((cpu) => known.has(cpu));
      const [memory, distances, hugePages] = [await memoryOf(node), await distancesOf(node), await hugePagesOf(node)];
      return { id, cpus, memory, distances, hugePages };
    }),
  );
}

function socketNodes(places: readonly Place[]): readonly FoundNode[] {
  return cpuSet(places.map(({ socket }) => socket)).map((id) => {
    const cpus = places.filter(({ socket }) => socket === id).map((place) => place.id);
    return { id, cpus, memory: 0, distances: [], hugePages: [] };
  });
}

async function memoryOf(node: SysFolder): Promise<number> {
  const text = await node.text('meminfo');
  const [, amount] = /MemTotal:\s*(\d+) kB/.exec(text ?? '') ?? [];
  if (amount === undefined) throw new MachineError('bad-file', `${node.path}/meminfo: no MemTotal`);
  return Number(amount) * 1024;
}

async function distancesOf(node: SysFolder): Promise<readonly number[]> {
  const distances = ((await node.text('distance')) ?? '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(Number);
  if (distances.every((distance) => Number.isInteger(distance) && distance > 0)) return distances;
  throw new MachineError('bad-file', `${node.path}/distance: not a list of distances`);
}

async function hugePagesOf(node: SysFolder): Promise<Machine['nodes'][number]['hugePages']> {
  const folder = node.below('hugepages');
  const sizes = (await namesIn(folder.path)).flatMap((name) => {
    const [, size] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    return size === undefined ? [] : [{ name, size: Number(size) * 1024 }];
  });
  const pages = sizes.map(async ({ name, size }) => ({
    size,
    count: await folder.below(name).number('nr_hugepages', 0),
  }));
  return (await Promise.all(pages)).toSorted((a, b) => a.size - b.size);
}
