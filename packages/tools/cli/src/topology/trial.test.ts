import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Machine } from '@kubus/exclusive';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readMachineFile } from './machine-file.ts';
import { type TrialRequest, allocationTrial } from './trial.ts';

/** Two nodes of two cores with two threads each. */
const file = `
apiVersion: kubus.dev/v1
kind: Machine
sockets: [{ id: 0, cpus: "0-3" }, { id: 1, cpus: "4-7" }]
nodes:
  - { id: 0, cpus: "0-3", memory: 4294967296 }
  - { id: 1, cpus: "4-7", memory: 4294967296 }
cores: ["0-1", "2-3", "4-5", "6-7"]
`;

const request: TrialRequest = {
  cpus: 4,
  memory: undefined,
  numaPolicy: 'none',
  numaScope: 'container',
  cpuOptions: [],
  reservedCpus: undefined,
};

let folder = '';
let machine: Machine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-topology-'));
  machine = await readMachineFile(await written(file));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(text: string): Promise<string> {
  const path = join(folder, 'machine.yaml');
  await writeFile(path, text);
  return path;
}

test('a container gets the CPUs and the memory of a node', () => {
  expect(allocationTrial(machine, { ...request, memory: 2 ** 30, numaPolicy: 'single-numa-node' })).toEqual({
    admitted: true,
    reason: undefined,
    message: undefined,
    cpus: '4-7',
    cpuNodes: '1',
    memoryNodes: '1',
    reserved: '0',
    shared: '0-3',
  });
});

test('a container that does not fit is refused as a kubelet refuses it', () => {
  expect(allocationTrial(machine, { ...request, cpus: 5, numaPolicy: 'single-numa-node' })).toMatchObject({
    admitted: false,
    reason: 'TopologyAffinityError',
    message: 'Resources cannot be allocated with Topology locality',
    cpus: '',
    shared: '0-7',
  });
});

test.each([
  ['--reserved-cpus: must be a list such as 0-3,8', { reservedCpus: 'all' }],
  ['unknown CPU Manager Policy option: "fast"', { cpuOptions: ['fast'] }],
  ['unknown CPU ID: 9', { reservedCpus: '9' }],
])('settings with which no kubelet starts: %s', (problem, changed) => {
  expect(() => allocationTrial(machine, { ...request, ...changed })).toThrow(problem);
});

describe('a file that describes no machine names its field', () => {
  test.each([
    ['nodes.0.memory: Invalid input: expected number, received string', file.replace('4294967296', 'much')],
    ['sockets.0.cpus: not a list of CPUs such as 0-3,8', file.replace('"0-3"', '"0-"')],
    ['cores: CPU 9 is in none of sockets', file.replace('"6-7"]', '"6-7", "9"]')],
  ])('%s', async (problem, text) => {
    const path = await written(text);
    await expect(readMachineFile(path)).rejects.toThrow(`${path}: ${problem}`);
  });

  test('a missing one is named, too', async () => {
    await expect(readMachineFile(join(folder, 'none'))).rejects.toThrow(/none: ENOENT/);
  });
});

test('without a file it is this machine', async () => {
  const { cpus } = await readMachineFile(undefined);
  expect(cpus.length).toBeGreaterThan(0);
});
