// A pod that gets its CPUs and memory as a whole: real files, a described machine, and a bus in this process.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FactOwner } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type CpuPool, type NodeTopology, cpuPool, nodeTopology } from '@kubus/contracts';
import { type PodRequest, describedMachine, machineDescription } from '@kubus/exclusive';
import { ExclusiveState } from '@kubus/exclusive-state';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExclusiveThings } from '../src/exclusive/exclusive-things.ts';

const GI = 1024 ** 3;
const cause = { id: 'sync-loop.1.1', traceId: '0'.repeat(32), spanId: '0'.repeat(16) };
const clock = new ManualClock(Date.UTC(2030, 0, 1));

let folder: string;
let pool: FactOwner<CpuPool>;
let topology: FactOwner<NodeTopology>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-whole-'));
  const { bus } = new LocalBroker('node0').join('node-agent', clock);
  [pool, topology] = [bus.owner(cpuPool), bus.owner(nodeTopology)];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The node's ledger as a process reads it: two NUMA nodes with two cores each, of 4 GiB. */
async function things(podLevel = true): Promise<ExclusiveThings> {
  const machine = describedMachine(
    machineDescription.parse({
      ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
      sockets: [{ id: 0, cpus: '0-3' }],
      nodes: [
        { id: 0, cpus: '0-1', memory: 4 * GI },
        { id: 1, cpus: '2-3', memory: 4 * GI },
      ],
    }),
  );
  if ('problem' in machine) throw new Error(machine.problem);
  const limits = { memory: GI };
  const started = await ExclusiveThings.start({
    ...{ node: 'node0', pool, topology, clock, logger: silentLogger, podLevel },
    files: new ExclusiveState(folder, { cpu: 'static', memory: 'Static', podLevel }),
    readMachine: () => Promise.resolve({ machine, offline: [], isolated: [], smt: false }),
    settings: {
      ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: {}, memoryManagerPolicy: 'Static' },
      ...{ topologyManagerPolicy: 'single-numa-node', topologyManagerScope: 'pod' },
      ...{ gates: { alpha: false, beta: true }, topologyOptions: { preferClosest: false, mostNodes: 8 } },
      ...{ reservedSystemCPUs: '0', reservedMilliCpus: 1000, reservedBytes: limits },
      reservedMemory: [{ numaNode: 0, limits }],
    },
  });
  if (started === undefined) throw new Error('the managers have policies');
  return started;
}

/** Two CPUs and 2 GiB, one and 1 GiB of which are of one container; the init container and the other share. */
const pod: PodRequest = {
  uid: 'p',
  containers: [
    { name: 'init', kind: 'init', cpus: 0, memory: {} },
    { name: 'own', kind: 'app', cpus: 1, memory: { memory: GI } },
    { name: 'shares', kind: 'app', cpus: 0, memory: {} },
  ],
  whole: { cpus: 2, memory: { memory: 2 * GI } },
};

function begun(ledger: ExclusiveThings, starting?: string) {
  return ledger.begin({ pod, starting, cause, devices: () => [] });
}

/** What each container has. */
function given(ledger: ExclusiveThings) {
  return pod.containers.map(({ name }) => ledger.of('p', name));
}

function onDisk(name: 'cpu' | 'memory'): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}_manager_state`), 'utf8'));
}

const all = { cpus: '2-3', mems: '1' };
const divided = [all, { cpus: '2', mems: '1' }, { cpus: '3', mems: '1' }];

test('its parts are on the disk with the whole, kept by the next process, and free with it when the pod has ended', async () => {
  const first = await things();
  await (await begun(first)).finish();
  expect(given(first)).toEqual(divided);
  expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-1', podEntries: { p: { cpuSet: '2-3' } } });
  const block = { numaAffinity: [1], type: 'memory' };
  expect(onDisk('memory')).toMatchObject({
    machineState: { 1: { memoryMap: { memory: { reserved: 2 * GI } } } },
    entries: { p: { own: [{ ...block, size: GI }], shares: [{ ...block, size: GI }] } },
    podEntries: { p: { memoryBlocks: [{ ...block, size: 2 * GI }] } },
  });
  const next = await things();
  await (await begun(next)).finish();
  await (await begun(next, 'own')).finish();
  expect(given(next)).toEqual([{ cpus: '2-3' }, ...divided.slice(1)]);
  expect(onDisk('memory')).toMatchObject({ machineState: { 1: { memoryMap: { memory: { reserved: 2 * GI } } } } });
  await next.free('p');
  expect(given(next)).toEqual([undefined, undefined, undefined]);
  expect(onDisk('cpu')).not.toHaveProperty('podEntries');
  expect(onDisk('memory')).toMatchObject({ machineState: { 1: { memoryMap: { memory: { reserved: 0 } } } } });
});

test('all of it is free again if its devices fail after the first container', async () => {
  const ledger = await things();
  const turn = await begun(ledger);
  expect(await turn.upTo('init', () => [])).toEqual([1]);
  expect(given(ledger)).toEqual(divided);
  await turn.undo();
  expect(given(ledger)).toEqual([undefined, undefined, undefined]);
  expect(onDisk('cpu')).toMatchObject({ defaultCpuSet: '0-3' });
});

test('a process without the gate does not start with its checkpoints', async () => {
  const ledger = await things();
  await (await begun(ledger)).finish();
  await expect(things(false)).rejects.toThrow('checkpoint is corrupted');
});
