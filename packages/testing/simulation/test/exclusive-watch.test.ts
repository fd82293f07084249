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

/** Three CPUs and 3 GiB as a whole, one and 1 GiB of which are of `r`; the others share the rest. */
const asWhole: PodPlan = {
  ...{ ...plan('w'), inits: ['i', 's'], whole: { cpu: '3', memory: '3Gi' } },
  resources: { r: { cpu: '1', memory: '1Gi' } },
};

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
      uids: ['a', 'b', 'w'],
    },
    plans: new Map([plan('a'), plan('b'), asWhole].map((one) => [one.uid, one])),
    level: 'pod',
    now: () => now,
  });
});

/** Node-agent writes this of CPUs. */
function cpus(shared: readonly number[], given: Readonly<Record<string, number>>): void {
  const ledger = Object.fromEntries(Object.entries(given).map(([uid, cpu]) => [uid, { r: [cpu] }]));
  const text = cpuCheckpoint('static', { shared, cpus: ledger, podCpus: {} });
  records.set('ledger/cpu_manager_state', text);
  written('ledger', 'cpu_manager_state', text);
}

/** Node-agent writes that these containers have CPUs of the pod's, and the node the others; by default what is right. */
function divides(given: Readonly<Record<string, readonly number[]>>, podCpus: readonly number[] = [3, 4, 5]): void {
  const shared = [0, 1, 2, 3, 4, 5].filter((id) => !podCpus.includes(id));
  const text = cpuCheckpoint('static', { shared, cpus: { w: given }, podCpus: { w: podCpus } }, true);
  records.set('ledger/cpu_manager_state', text);
  written('ledger', 'cpu_manager_state', text);
}
const divided = { i: [3, 4, 5], s: [4, 5], r: [3] };

/** Node-agent writes that each of these has 1 byte of memory on these nodes, and that so much is reserved on node 0. */
function memory(given: Readonly<Record<string, readonly number[]>>, reserved: number): void {
  const table = { total: 4, systemReserved: 0, allocatable: 4, reserved, free: 4 - reserved };
  const blocks = Object.entries(given).map(
    ([uid, numaAffinity]) => [uid, { r: [{ numaAffinity, type: 'memory', size: 1 }] }] as const,
  );
  const text = memoryCheckpoint('Static', {
    nodes: { 0: { numberOfAssignments: 1, memoryMap: { memory: table }, cells: [0] } },
    memory: Object.fromEntries(blocks),
    podMemory: {},
  });
  written('ledger', 'memory_manager_state', text);
}

/** Node-agent writes that the pod has 3 bytes of memory as a whole, on this node, and its containers so much of it. */
function memoryOf(given: Readonly<Record<string, number>>, reserved: number, of: readonly number[] = [0]): void {
  const table = { total: 4, systemReserved: 0, allocatable: 4, reserved, free: 4 - reserved };
  const blocks = Object.entries(given).map(
    ([name, size]) => [name, [{ numaAffinity: [0], type: 'memory', size }]] as const,
  );
  const ledger = {
    nodes: { 0: { numberOfAssignments: 1, memoryMap: { memory: table }, cells: [0] } },
    memory: { w: Object.fromEntries(blocks) },
    podMemory: { w: [{ numaAffinity: of, type: 'memory', size: 3 }] },
  };
  written('ledger', 'memory_manager_state', memoryCheckpoint('Static', ledger, true));
}

/** The container of this pod is created with these CPUs and devices, and starts. */
function runs(uid: string, own: string | undefined, device?: string, name = 'r'): ModelContainer {
  const container: ModelContainer = {
    id: `${uid} ${name}`,
    sandbox: { id: uid, config: { metadata: { uid } }, handler: '', createdAt: 0n, ready: true, ip: '' },
    config: { metadata: { name }, ...(device !== undefined && { devices: [{ hostPath: `/dev/${device}` }] }) },
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
const parts = 'what a pod has as a whole is divided among its containers';

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

test('a pod that has its things as a whole, and divides them, is as it should be', () => {
  divides(divided);
  runs('w', '4-5', undefined, 's');
  runs('w', '3-5', undefined, 'i').state = 'CONTAINER_EXITED';
  runs('w', '3');
  memoryOf({ i: 3, s: 2, r: 1 }, 3);
  expect([rules(), watch.atRest([asWhole])]).toEqual([[], []]);
  // Init containers that have ended have no memory.
  memoryOf({ s: 2, r: 1 }, 3);
  expect(rules()).toEqual([]);
});

test.each<[string, Readonly<Record<string, readonly number[]>>, readonly number[]]>([
  ['too few', { ...divided, s: [5] }, [3, 4, 5]],
  ['those of another', { ...divided, s: [3, 4, 5] }, [3, 4, 5]],
  ['none', { i: [3, 4, 5], r: [3] }, [3, 4, 5]],
  ['more than it requests', { i: [3, 4, 5], s: [5], r: [3, 4] }, [3, 4, 5]],
  ['more as a whole than it requests', { i: [2, 3, 4, 5], s: [2, 4, 5], r: [3] }, [2, 3, 4, 5]],
])('a container, or a pod, of which the ledger says that it has %s is found', (_, given, podCpus) => {
  divides(given, podCpus);
  expect(new Set(rules())).toEqual(new Set([parts]));
});

test('memory that is divided among the containers of a pod in another way is found', () => {
  memoryOf({ s: 3, r: 1 }, 3);
  memoryOf({ r: 1 }, 3);
  memoryOf({ s: 2, r: 1 }, 3, [1]);
  expect(rules()).toEqual([parts, parts, parts]);
  memoryOf({ s: 2, r: 1 }, 4);
  expect(rules().slice(3)).toEqual(['memory has one owner']);
});

test('a container of such a pod that is created with the CPUs of the node, or gets these later, is found', () => {
  divides(divided);
  runs('w', '0-2', undefined, 's');
  expect(rules()).toEqual([created]);
  const container = runs('w', '4-5', undefined, 's');
  container.cpus = '0-2';
  runtime.updated(container);
  expect(rules()).toEqual([created, created]);
  expect(watch.atRest([asWhole]).map(({ rule }) => rule)).toContain('running containers use the CPUs that are theirs');
});

test('a container that runs on the CPUs of another pod, or on those that one of its pod has for itself, is found', () => {
  divides(divided);
  runs('w', '4-5', undefined, 's');
  runs('a', '4');
  runs('w', '5');
  expect(rules()).toEqual([created, used, created, used]);
});

test('what such a pod keeps is found at rest', () => {
  divides({}, [3, 4, 5]);
  expect(watch.atRest([])).toEqual([{ rule: 'a pod that does not run has nothing for itself', detail: 'w' }]);
});
