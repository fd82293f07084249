import { afterEach, expect, test } from '@jest/globals';
import { allCpus, cpuSetText } from '@kubus/exclusive';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { MachineError, readMachine } from '../src/index.ts';

const roots: string[] = [];

afterEach(async () => {
  await Promise.all(roots.splice(0).map((root) => rm(root, { recursive: true })));
});

/** A folder like /sys with these files below `devices/system`. */
async function sys(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'machine-topology-'));
  roots.push(root);
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'devices/system', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${text}\n`);
  }
  return root;
}

function cpu(id: number, siblings: string, socket: number, cache: { id: number; cpus: string }) {
  return {
    [`cpu/cpu${id}/topology/thread_siblings_list`]: siblings,
    [`cpu/cpu${id}/topology/physical_package_id`]: String(socket),
    [`cpu/cpu${id}/cache/index2/level`]: '2',
    [`cpu/cpu${id}/cache/index2/shared_cpu_list`]: siblings,
    [`cpu/cpu${id}/cache/index3/level`]: '3',
    [`cpu/cpu${id}/cache/index3/id`]: String(cache.id),
    [`cpu/cpu${id}/cache/index3/shared_cpu_list`]: cache.cpus,
  };
}

/** Two nodes: the first with two caches, the second with one for all of its CPUs. CPU 7 is off, CPU 3 isolated. */
const machine = {
  'cpu/online': '0-6',
  'cpu/offline': '7',
  'cpu/isolated': '3',
  ...cpu(0, '0-1', 0, { id: 8, cpus: '0-1' }),
  ...cpu(1, '0-1', 0, { id: 8, cpus: '0-1' }),
  ...cpu(2, '2-3', 0, { id: 9, cpus: '2-3' }),
  ...cpu(3, '2-3', 0, { id: 9, cpus: '2-3' }),
  ...cpu(4, '4-5', 1, { id: 16, cpus: '4-6' }),
  ...cpu(5, '4-5', 1, { id: 16, cpus: '4-6' }),
  ...cpu(6, '6-7', 1, { id: 16, cpus: '4-6' }),
  'node/online': '0-1',
  'node/node0/cpulist': '0-3',
  'node/node0/distance': '10 21',
  'node/node0/meminfo': 'Node 0 MemTotal:        1024 kB\nNode 0 MemFree:          512 kB',
  'node/node0/hugepages/hugepages-2048kB/nr_hugepages': '3',
  'node/node0/hugepages/hugepages-1048576kB/nr_hugepages': '0',
  'node/node1/cpulist': '4-7',
  'node/node1/distance': '21 10',
  'node/node1/meminfo': 'Node 1 MemTotal:        2048 kB',
};

test('sockets, nodes, cores, shared caches, memory and huge pages are read', async () => {
  const found = await readMachine(await sys(machine));
  expect(found).toEqual({
    machine: {
      sockets: 2,
      cpus: [
        { id: 0, core: 0, socket: 0, node: 0, cache: 8 },
        { id: 1, core: 0, socket: 0, node: 0, cache: 8 },
        { id: 2, core: 2, socket: 0, node: 0, cache: 9 },
        { id: 3, core: 2, socket: 0, node: 0, cache: 9 },
        { id: 4, core: 4, socket: 1, node: 1, cache: 1 },
        { id: 5, core: 4, socket: 1, node: 1, cache: 1 },
        { id: 6, core: 6, socket: 1, node: 1, cache: 1 },
      ],
      nodes: [
        {
          id: 0,
          memory: 2 ** 20,
          distances: [10, 21],
          hugePages: [
            { size: 2 ** 21, count: 3 },
            { size: 2 ** 30, count: 0 },
          ],
        },
        { id: 1, memory: 2 ** 21, distances: [21, 10], hugePages: [] },
      ],
    },
    offline: [7],
    isolated: [3],
    smt: true,
  });
});

test('a machine without NUMA, caches and SMT has a node for each socket', async () => {
  const root = await sys({ 'cpu/online': '0-1', 'cpu/cpu1/topology/physical_package_id': '-1' });
  const { machine: found, smt } = await readMachine(root);
  expect(found).toEqual({
    sockets: 1,
    cpus: [0, 1].map((id) => ({ id, core: id, socket: 0, node: 0, cache: 0 })),
    nodes: [{ id: 0, memory: 0, distances: [], hugePages: [] }],
  });
  expect(smt).toBe(false);
});

test.each([
  ['cpu/online: missing', { 'cpu/online': undefined }],
  ['cpu/online: not a list such as 0-3,8: x', { 'cpu/online': 'x' }],
  ['cpu/online: no CPU', { 'cpu/online': '' }],
  ['cpu/cpu2/topology/physical_package_id: not a number: y', { 'cpu/cpu2/topology/physical_package_id': 'y' }],
  ['node/node1/meminfo: no MemTotal', { 'node/node1/meminfo': 'MemFree: 1 kB' }],
  ['node/node0/distance: not a list of distances', { 'node/node0/distance': '10 far' }],
])('a file that is not as expected is named: %s', async (problem, changed) => {
  const files = Object.entries({ ...machine, ...changed }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text]],
  );
  const root = await sys(Object.fromEntries(files) as Record<string, string>);
  const expected = new MachineError('', `${join(root, 'devices/system')}/${problem}`).message;
  await expect(readMachine(root)).rejects.toThrow(expected);
});

test('this machine is read', async () => {
  const { machine: found } = await readMachine();
  expect(found.cpus.length).toBeGreaterThanOrEqual(availableParallelism());
  expect(cpuSetText(allCpus(found))).toMatch(/^\d/);
  // The nodes may have less than the machine: the kernel does not count memory there that was added later, as to a virtual machine.
  for (const { memory } of found.nodes) expect(memory % 1024).toBe(0);
  const memory = found.nodes.reduce((sum, node) => sum + node.memory, 0);
  expect(memory === 0 || memory > totalmem() / 4).toBe(true);
});
