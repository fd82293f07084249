import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { podSchema } from '@kubus/contracts';
import {
  type ExclusiveSettings,
  type ExclusiveSetup,
  type Ledger,
  admitted,
  allCpus,
  containerAdmission,
  cpuSet,
  cpuSetText,
  describedMachine,
  descriptionOf,
  emptyLedger,
  exclusiveSetup,
  ledgerProblem,
  machineDescription,
  parseCpuSet,
  podAdmission,
  podRequest,
  withoutContainer,
  withoutPod,
} from '../src/index.ts';
import { randomSequence } from './random-sequence.ts';
import { bothManagers, machine, machineNames, settingsOf, setupOn } from './sequences.ts';

const GIB = 2 ** 30;

function pod(uid: string, cpus: number, memory = GIB) {
  return { uid, containers: [{ name: 'c', kind: 'app' as const, cpus, memory: { memory } }] };
}

/** The CPUs of one pod on an empty machine. */
function given(name: string, cpus: number, changed: Partial<ExclusiveSettings> = {}): string {
  const setup = setupOn(name, changed);
  const { ledger, refusal } = admitted(setup, emptyLedger(setup), pod('p', cpus));
  return refusal === undefined ? cpuSetText(ledger.cpus['p']?.['c'] ?? []) : refusal.reason;
}

describe('a container gets', () => {
  test.each<[string, string, number, string, Record<string, string>]>([
    ['both threads of a core', 'one-socket', 2, '1,5', {}],
    ['a whole NUMA node beside the one with the reserved CPU', 'two-sockets-smt', 20, '10-19,30-39', {}],
    ['one thread of each core if spread', 'one-socket', 3, '1-3', { 'distribute-cpus-across-cores': 'true' }],
    ['CPUs of one cache', 'nps4-8-ccx', 8, '4-7,36-39', { 'prefer-align-cpus-by-uncorecache': 'true' }],
    [
      'equal parts of two nodes',
      'two-sockets-smt',
      22,
      '1-5,10-15,21-25,30-35',
      { 'distribute-cpus-across-numa': 'true', 'full-pcpus-only': 'true' },
    ],
    ['neither half a core', 'one-socket', 3, 'SMTAlignmentError', { 'full-pcpus-only': 'true' }],
    ['nor more than there are', 'one-socket', 8, 'UnexpectedAdmissionError', {}],
  ])('%s', (_, name, cpus, expected, cpuManagerPolicyOptions) => {
    expect(given(name, cpus, { cpuManagerPolicyOptions })).toBe(expected);
  });
});

test.each(['container', 'pod'])(
  'hints for devices are merged with those of CPUs and memory, by %s',
  (topologyManagerScope) => {
    const setup = setupOn('two-sockets-smt', { topologyManagerPolicy: 'restricted', topologyManagerScope });
    const admission = (cpus: number, masks: readonly number[]) => {
      const hints = masks.map((mask) => ({ mask, preferred: mask !== 0b11 }));
      const devices = () => [{ resource: 'example.com/gpu', hints }];
      const [request, ledger] = [pod('p', cpus), emptyLedger(setup)];
      const begun = podAdmission(setup, ledger, request, devices);
      if ('refusal' in begun) return begun.refusal.reason;
      const [container] = request.containers;
      if (container === undefined) throw new Error('no container');
      const step = containerAdmission(setup, ledger, { admission: begun, container, devices });
      return step.refusal?.reason ?? cpuSetText(step.ledger.cpus['p']?.['c'] ?? []);
    };
    expect(admission(2, [0b01, 0b10, 0b11])).toBe('1,21');
    expect(admission(2, [0b10, 0b11])).toBe('10,30');
    expect(admission(2, [])).toBe('TopologyAffinityError');
    expect(admission(20, [0b01, 0b11])).toBe('TopologyAffinityError');
  },
);

test('a pod that no single NUMA node has room for is refused where one is demanded', () => {
  const changed = { topologyManagerPolicy: 'single-numa-node' };
  expect(given('two-sockets-smt', 21, changed)).toBe('TopologyAffinityError');
  expect(given('two-sockets-smt', 20, changed)).toBe('10-19,30-39');
});

test('app containers get the CPUs of init containers that ended, not those of sidecars', () => {
  const setup = setupOn('one-socket');
  const memory = { memory: GIB };
  const containers = [
    { name: 'first', kind: 'init' as const, cpus: 2, memory },
    { name: 'beside', kind: 'sidecar' as const, cpus: 1, memory },
    { name: 'app', kind: 'app' as const, cpus: 2, memory },
  ];
  const { ledger } = admitted(setup, emptyLedger(setup), { uid: 'p', containers });
  expect(ledger.cpus['p']).toEqual({ first: [1, 5], beside: [4], app: [1, 5] });
  expect(withoutPod(ledger, 'p')).toEqual(emptyLedger(setup));
});

test('a pod that is admitted again keeps its CPUs and memory', () => {
  const setup = setupOn('nps4-8-ccx');
  const first = admitted(setup, emptyLedger(setup), pod('p', 6));
  expect(admitted(setup, first.ledger, pod('p', 6))).toEqual(first);
});

/** CPUs with two owners. Init containers share theirs with later containers of their pod. */
function sharedTwice({ shared, cpus }: Ledger): readonly number[] {
  const owned = Object.values(cpus).map((containers) => cpuSet(Object.values(containers).flat()));
  const all = [shared, ...owned].flat();
  return all.filter((id, at) => all.indexOf(id) !== at);
}

/** The ledgers after the steps that are made before; undefined: the settings are refused. */
function ledgersOf(seed: number): { readonly setup: ExclusiveSetup; readonly ledgers: readonly Ledger[] } | undefined {
  const { machine: name, config, steps } = randomSequence(seed);
  const setup = exclusiveSetup(machine(name), settingsOf(config));
  if ('problem' in setup) return undefined;
  let ledger = emptyLedger(setup);
  const ledgers = steps.map((step) => {
    if (step.op === 'remove') ledger = withoutPod(ledger, step.uid);
    if (step.op !== 'add') return ledger;
    const { refusal, ledger: next } = admitted(setup, ledger, {
      uid: step.uid,
      containers: step.containers.map(({ milli, ...rest }) => ({
        ...rest,
        cpus: milli % 1000 === 0 ? milli / 1000 : 0,
      })),
    });
    ledger = next;
    for (const { name: called, milli } of step.containers) {
      const count = refusal === undefined && milli % 1000 === 0 ? milli / 1000 : 0;
      expect(ledger.cpus[step.uid]?.[called]?.length ?? 0).toBe(setup.cpu === undefined ? 0 : count);
    }
    return ledger;
  });
  return { setup, ledgers };
}

function withoutAll(ledger: Ledger): Ledger {
  const uids = [...Object.keys(ledger.cpus), ...Object.keys(ledger.memory)];
  return uids.reduce((next, uid) => withoutPod(next, uid), ledger);
}

test('each CPU has one owner at any time, no reserved one is given, and those that are freed are those that were allocated', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (seed) => {
      const { setup, ledgers } = ledgersOf(seed) ?? {};
      fc.pre(setup !== undefined);
      const reserved = setup.cpu?.reserved ?? [];
      for (const ledger of ledgers ?? []) {
        const given = new Set(Object.values(ledger.cpus).flatMap((containers) => Object.values(containers).flat()));
        expect([sharedTwice(ledger), reserved.filter((id) => given.has(id))]).toEqual([[], []]);
        expect(ledgerProblem({ ...setup, memory: undefined }, ledger)).toBeUndefined();
        expect(withoutAll(ledger).shared).toEqual(emptyLedger(setup).shared);
      }
    }),
    { numRuns: 25 },
  );
});

// Not for any seed: with best-effort the reference gives memory of one node of a group, which it then does not find again.
test('memory that is freed is that which was allocated', () => {
  const runs = Array.from({ length: 30 }, (_, seed) => ledgersOf(seed)).filter((run) => run !== undefined);
  expect(runs.length).toBeGreaterThan(20);
  for (const { setup, ledgers } of runs) {
    expect(ledgers.map((ledger) => ledgerProblem(setup, ledger)).filter((problem) => problem !== undefined)).toEqual(
      [],
    );
    expect(withoutAll(ledgers.at(-1) ?? emptyLedger(setup))).toEqual(emptyLedger(setup));
  }
});

test('a ledger of before is refused if the machine or the reservation is another now', () => {
  const setup = setupOn('one-socket');
  const { ledger } = admitted(setup, emptyLedger(setup), pod('p', 2));
  expect(ledgerProblem(setup, ledger)).toBeUndefined();
  expect(ledgerProblem(setupOn('one-socket', { reservedSystemCPUs: '1' }), ledger)).toBe(
    'not all reserved cpus: "1" are present in defaultCpuSet: "0,2-4,6-7"',
  );
  expect(ledgerProblem(setup, { ...ledger, shared: ledger.shared.slice(0, -1) })).toBe(
    'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-6"',
  );
  expect(ledgerProblem(setup, { ...ledger, shared: allCpus(setup.machine) })).toBe(
    'pod: p, container: c cpuset: "1,5" overlaps with default cpuset "0-7"',
  );
  expect(ledgerProblem(setup, { ...ledger, nodes: emptyLedger(setup).nodes })).toBe(
    '[memorymanager] the expected machine state is different from the real one',
  );
  expect(ledgerProblem(setup, withoutContainer(ledger, 'p', 'c'))).toBeUndefined();
});

describe('these settings are refused', () => {
  test.each<[string, Partial<ExclusiveSettings>]>([
    [
      '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
      { reservedMilliCpus: 0 },
    ],
    [
      'new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of 2-3 did not equal 1)',
      { reservedSystemCPUs: '2-3' },
    ],
    [
      'new static policy error: unknown CPU Manager Policy option: "fast"',
      { cpuManagerPolicyOptions: { fast: 'true' } },
    ],
    [
      'new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
      { cpuManagerPolicyOptions: { 'align-by-socket': 'true' }, gates: { alpha: false, beta: true } },
    ],
    [
      'new static policy error: bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
      { cpuManagerPolicyOptions: { 'full-pcpus-only': 'yes' } },
    ],
    [
      'new static policy error: static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time',
      { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' } },
    ],
    [
      'the reserved memory configuration references a NUMA node 7 that does not exist on this machine',
      { reservedMemory: [{ numaNode: 7, limits: { memory: GIB } }] },
    ],
    ['[memorymanager] you should specify the system reserved memory', { reservedMemory: [], reservedBytes: {} }],
    [
      'unsupported on machines with more than 0 NUMA Nodes',
      { topologyOptions: { preferClosest: false, mostNodes: 0 } },
    ],
  ])('%s', (problem, changed) => {
    expect(exclusiveSetup(machine('one-socket'), { ...bothManagers, ...changed })).toEqual({ problem });
  });
});

describe('a machine', () => {
  test.each(machineNames)('%s is described as it is', (name) => {
    const again = describedMachine(machineDescription.parse(descriptionOf(machine(name))));
    expect(again).toEqual(machine(name));
  });

  test.each([
    [
      'sockets: CPU 1 is in two of them',
      {
        sockets: [
          { id: 0, cpus: '0-1' },
          { id: 1, cpus: '1' },
        ],
      },
    ],
    ['nodes: CPU 1 is in none of them', { nodes: [{ id: 0, cpus: '0', memory: 1 }] }],
    ['cores: CPU 2 is in none of sockets', { cores: ['1-2'] }],
    [
      'nodes: node 0 has distances to 2 of 1 nodes',
      { nodes: [{ id: 0, cpus: '0-1', memory: 1, distances: [10, 20] }] },
    ],
    ['sockets: no CPU', { sockets: [{ id: 0, cpus: '' }], nodes: [{ id: 0, cpus: '', memory: 1 }] }],
  ])('that contradicts itself is refused: %s', (problem, changed) => {
    const plain = {
      apiVersion: 'kubus.dev/v1',
      kind: 'Machine',
      sockets: [{ id: 0, cpus: '0-1' }],
      nodes: [{ id: 0, cpus: '0-1', memory: 1 }],
    };
    expect(describedMachine(machineDescription.parse({ ...plain, ...changed }))).toEqual({ problem });
  });
});

test.each(['1-', 'a', '3-1', '0-99999999', '0,,1', ' 1', '70000'])('%j is no list of CPUs', (text) =>
  expect(parseCpuSet(text)).toBeUndefined(),
);

test('any set of CPUs is read from its list', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 300 })), (ids) => {
      expect(parseCpuSet(cpuSetText(cpuSet(ids)))).toEqual(cpuSet(ids));
    }),
  );
});

describe('the exclusive things of a pod', () => {
  const container = (name: string, cpu: string, more: object = {}) => ({
    name,
    image: 'i',
    resources: { limits: { cpu, memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
    ...more,
  });
  const podOf = (spec: object) => podSchema.parse({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec });
  const memory = { memory: GIB, 'hugepages-2Mi': 4 * 2 ** 20 };

  test('are whole CPUs and memory of Guaranteed ones', () => {
    const spec = {
      initContainers: [container('i', '2'), container('s', '1', { restartPolicy: 'Always' })],
      containers: [container('c', '1500m')],
    };
    expect(podRequest(podOf(spec)).containers).toEqual([
      { name: 'i', kind: 'init', cpus: 2, memory },
      { name: 's', kind: 'sidecar', cpus: 1, memory },
      { name: 'c', kind: 'app', cpus: 0, memory },
    ]);
  });

  test('are none of others', () => {
    const spec = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2', memory: '1Gi' } } }] };
    expect(podRequest(podOf(spec)).containers).toEqual([{ name: 'c', kind: 'app', cpus: 0, memory: undefined }]);
  });
});
