import { beforeEach, expect, test } from '@jest/globals';
import { cpuCheckpoint, memoryCheckpoint } from '@kubus/exclusive';
import { ExclusiveWatch } from '../src/exclusive-watch.ts';
import type { PodPlan } from '../src/pod-plan.ts';
import type { ContainerObserver, ModelContainer } from '../src/runtime-things.ts';

let records: Map<string, unknown>;
let containers: ModelContainer[];
let written: (folder: string, key: string, value: unknown) => void;
let runtime: ContainerObserver;
let watch: ExclusiveWatch;
let now: number;

const plan = (uid: string): PodPlan => ({
  ...{ name: uid, uid, restartPolicy: 'Always', inits: [], main: 'r', volume: false, subPath: false, ownUsers: false },
  resources: { r: { cpu: '1', memory: '1Gi' } },
});

beforeEach(() => {
  records = new Map();
  containers = [];
  now = 1_000;
  const of = (uid: string) => containers.filter(({ sandbox }) => sandbox.config.metadata?.uid === uid);
  watch = new ExclusiveWatch({
    disk: {
      keys: (folder) =>
        [...records.keys()].flatMap((key) => (key.startsWith(`${folder}/`) ? [key.slice(folder.length + 1)] : [])),
      observe: (observer) => (written = observer),
      value: (folder, key) => records.get(`${folder}/${key}`),
    },
    runtime: {
      observe: (observer) => (runtime = observer),
      pod: (uid) => ({ sandboxes: [], containers: of(uid) }),
      uids: ['a', 'b'],
    },
    plans: new Map(['a', 'b'].map((uid) => [uid, plan(uid)])),
    now: () => now,
  });
});

/** Node-agent writes this of CPUs. */
function cpus(shared: readonly number[], given: Readonly<Record<string, number>>): void {
  const ledger = Object.fromEntries(Object.entries(given).map(([uid, cpu]) => [uid, { r: [cpu] }]));
  const text = cpuCheckpoint('static', { shared, cpus: ledger });
  records.set('ledger/cpu_manager_state', text);
  written('ledger', 'cpu_manager_state', text);
}

/** Node-agent writes that each of these has 1 byte of memory on these nodes, and that so much is reserved on node 0. */
function memory(given: Readonly<Record<string, readonly number[]>>, reserved: number): void {
  const table = { total: 4, systemReserved: 0, allocatable: 4, reserved, free: 4 - reserved };
  const blocks = Object.entries(given).map(
    ([uid, numaAffinity]) => [uid, { r: [{ numaAffinity, type: 'memory', size: 1 }] }] as const,
  );
  const text = memoryCheckpoint('Static', {
    nodes: { 0: { numberOfAssignments: 1, memoryMap: { memory: table }, cells: [0] } },
    memory: Object.fromEntries(blocks),
  });
  written('ledger', 'memory_manager_state', text);
}

/** The container of this pod is created with these CPUs and devices, and starts. */
function runs(uid: string, own: string | undefined, device?: string): ModelContainer {
  const container: ModelContainer = {
    id: uid,
    sandbox: { id: uid, config: { metadata: { uid } }, handler: '', createdAt: 0n, ready: true, ip: '' },
    config: { metadata: { name: 'r' }, ...(device !== undefined && { devices: [{ hostPath: `/dev/${device}` }] }) },
    ...{ createdAt: 0n, state: 'CONTAINER_RUNNING', starting: false, startedAt: 0n, finishedAt: 0n },
    ...{ exitCode: 0, reason: '', cpus: own, onExit: [] },
  };
  containers.push(container);
  runtime.created(container);
  runtime.started(container);
  return container;
}

const rules = () => watch.violations.map(({ rule }) => rule);
const created = 'a container is created with what is its own on the disk';
const used = 'what a container has for itself is used by no other';

test('pods that run on the CPUs that the ledger says are as they should be', () => {
  cpus([0, 3, 4, 5], { a: 1, b: 2 });
  memory({ a: [0], b: [0] }, 2);
  runs('a', '1');
  runs('b', '2');
  expect([rules(), watch.atRest([plan('a'), plan('b')])]).toEqual([[], []]);
});

test('a CPU of two pods, one that is also shared, and one of nobody are found', () => {
  cpus([0, 3, 4, 5], { a: 1, b: 1 });
  expect(watch.violations.map(({ detail }) => detail)).toEqual(['CPU 1: a, b', 'CPU 2: nobody']);
  cpus([0, 1, 2, 3, 4, 5], { a: 1 });
  expect(watch.violations.at(-1)?.detail).toBe('CPU 1: the shared pool, a');
});

test('a group of nodes where one already has memory, and memory that is reserved for nobody, are found', () => {
  memory({ a: [0, 1] }, 1);
  memory({ a: [0, 1], b: [0] }, 2);
  expect(rules()).toEqual([]);
  memory({ b: [0] }, 1);
  memory({ a: [0, 1], b: [0] }, 2);
  expect(rules()).toEqual(['a group of NUMA nodes begins where no other is']);
  memory({ a: [0] }, 2);
  expect(rules().slice(1)).toEqual(['memory has one owner']);
});

test('a container that is created with other CPUs than the ledger has, or with a device that no record has, is found', () => {
  cpus([0, 2, 3, 4, 5], { a: 1 });
  runs('a', '2');
  expect(rules()).toEqual([created]);
  runs('b', undefined);
  expect(rules()).toEqual([created, created]);
  containers = [];
  runs('a', '1', 'device-0');
  expect(rules().slice(2)).toEqual([created]);
});

test('two containers that run on one CPU are found, unless a crashed cri-bridge has started one of them', () => {
  cpus([0, 2, 3, 4, 5], { a: 1 });
  runs('a', '1');
  cpus([0, 2, 3, 4, 5], { b: 1 });
  watch.bridgeKilled();
  now += 50;
  runs('b', '1');
  expect(rules()).toEqual([]);
  containers = containers.slice(0, 1);
  now += 100;
  runs('b', '1');
  expect(rules()).toEqual([used]);
});

test('what a pod keeps that does not run, and CPUs that were not set again, are found at rest', () => {
  cpus([0, 3, 4, 5], { a: 1, b: 2 });
  runs('a', '1').cpus = '1-2';
  const violations = watch.atRest([plan('a')]);
  expect(violations.map(({ rule }) => rule)).toEqual([
    'a pod that does not run has nothing for itself',
    'running containers use the CPUs that are theirs',
  ]);
});
