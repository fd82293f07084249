import { describe, expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import * as fc from 'fast-check';
import {
  type ExclusiveSettings,
  type ExclusiveSetup,
  type Ledger,
  type PodLevel,
  type PodRequest,
  admitted,
  allCpus,
  cpuSetText,
  cpuSharing,
  describedMachine,
  emptyLedger,
  exclusiveRequest,
  exclusiveSetup,
  isWithoutQuota,
  ledgerProblem,
  machineDescription,
  podRequest,
  withoutContainer,
  withoutEndedMemory,
  withoutPod,
} from '../src/index.ts';
import { bothManagers, setupOn } from './sequences.ts';

const MIB = 2 ** 20;
const GIB = 1024 * MIB;

const aligned = { topologyManagerPolicy: 'restricted', topologyManagerScope: 'pod' };

function setupWith(changed: Partial<ExclusiveSettings> = {}): ExclusiveSetup {
  return setupOn('one-socket', { ...aligned, ...changed });
}

/** `main 2 256` has two CPUs and 256 MiB for itself, `init:a` and `sidecar:b` request nothing. */
function podOf(cpus: string, memory: string, ...containers: readonly string[]) {
  const all = containers.map((text) => {
    const [kindAndName = '', cpu, mebibytes] = text.split(' ');
    const [kind, name] = kindAndName.includes(':') ? kindAndName.split(':') : ['app', kindAndName];
    const limits = cpu === undefined ? {} : { cpu, memory: `${mebibytes ?? 0}Mi` };
    const restartPolicy = kind === 'sidecar' ? { restartPolicy: 'Always' } : {};
    return { kind, container: { name, image: 'i', resources: { limits }, ...restartPolicy } };
  });
  const of = (isApp: boolean) => all.filter(({ kind }) => (kind === 'app') === isApp).map(({ container }) => container);
  const resources = { requests: { cpu: cpus, memory }, limits: { cpu: cpus, memory } };
  const spec = { initContainers: of(false), containers: of(true), resources };
  return podSchema.parse({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec });
}

/** By container: the CPUs and the MiB that the ledger says. */
function shown({ cpus, memory }: Ledger): Record<string, string> {
  const names = [...new Set([cpus, memory].flatMap((all) => Object.keys(all['u'] ?? {})))];
  return Object.fromEntries(
    names.map((name) => {
      const bytes = (memory['u']?.[name] ?? []).reduce((sum, { size }) => sum + size, 0);
      return [name, `${cpuSetText(cpus['u']?.[name] ?? [])} ${bytes / MIB}`];
    }),
  );
}

function admission(
  pod: ReturnType<typeof podOf>,
  changed: Partial<ExclusiveSettings> = {},
  podLevel: PodLevel = 'pod',
) {
  const setup = setupWith(changed);
  return { setup, ...admitted(setup, emptyLedger(setup), podRequest(pod, podLevel)) };
}

describe('a pod that gets its CPUs and its memory as a whole', () => {
  test.each<[string, ReturnType<typeof podOf>, Record<string, string>]>([
    ['shares all among containers that request nothing', podOf('2', '1Gi', 'a', 'b'), { a: '1,5 1024', b: '1,5 1024' }],
    [
      'gives those that request some theirs, and the rest to the others',
      podOf('4', '1Gi', 'a 2 256', 'b'),
      { a: '1,5 256', b: '2,6 768' },
    ],
    [
      'takes nothing for an init container from later ones, as that for a sidecar',
      podOf('4', '1Gi', 'init:i 2 512', 'sidecar:s 1 256', 'init:j', 'a 2 256', 'b'),
      { i: '1,5 512', s: '1 256', j: '2,5-6 768', a: '2,6 256', b: '5 512' },
    ],
    [
      'has memory only, if its CPUs are no whole number',
      podOf('2500m', '1Gi', 'a 2 256', 'b'),
      { a: ' 256', b: ' 768' },
    ],
    [
      'gives a container that requests a part of a CPU memory alone',
      podOf('2', '1Gi', 'a 500m 256', 'b'),
      { a: '1,5 256', b: '1,5 768' },
    ],
  ])('%s', (_, pod, expected) => {
    const { setup, ledger, refusal } = admission(pod);
    expect([refusal, shown(ledger)]).toEqual([undefined, expected]);
    expect(ledgerProblem(setup, ledger)).toBeUndefined();
  });

  test.each<[string, ReturnType<typeof podOf>, Partial<ExclusiveSettings>, string, string]>([
    [
      'have no CPUs to share',
      podOf('2', '1Gi', 'a 2 256', 'b'),
      { topologyManagerPolicy: 'best-effort' },
      'EmptyPodSharedPoolError',
      'pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
    ],
    [
      'have no memory to share',
      podOf('4', '1Gi', 'a 2 1024', 'b'),
      { topologyManagerPolicy: 'best-effort' },
      'EmptyPodSharedPoolError',
      'pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers',
    ],
    [
      'have none as init containers',
      podOf('2', '1Gi', 'sidecar:s 2 256', 'init:i', 'a 1 256'),
      { topologyManagerPolicy: 'best-effort' },
      'EmptyPodSharedPoolError',
      'pod rejected, pod has shared init containers but no cpus available for them',
    ],
    [
      'have none, where a hint is needed',
      podOf('2', '1Gi', 'a 2 256', 'b'),
      {},
      'TopologyAffinityError',
      'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager',
    ],
    [
      'would have half a core',
      podOf('3', '1Gi', 'a', 'b'),
      { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
      'SMTAlignmentError',
      'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    ],
  ])('is refused if its containers %s', (_, pod, changed, reason, message) => {
    const { setup, ledger, refusal } = admission(pod, changed);
    expect(refusal).toMatchObject({ reason, message });
    expect(ledger).toEqual(emptyLedger(setup));
  });

  test('keeps what it has when it is admitted again, and gives a container that lacks its part the same', () => {
    const pod = podRequest(podOf('4', '1Gi', 'init:i', 'a 2 256', 'b'), 'pod');
    const setup = setupWith();
    const first = admitted(setup, emptyLedger(setup), pod).ledger;
    expect(admitted(setup, first, pod)).toEqual({ ledger: first, refusal: undefined });
    const ended = withoutEndedMemory(first, pod, 'a');
    expect(ended.memory['u']).not.toHaveProperty('i');
    expect(ended.nodes).toEqual(first.nodes);
    expect(admitted(setup, ended, pod).ledger).toEqual(first);
  });

  test('has all until its last container has nothing', () => {
    const { setup, ledger } = admission(podOf('2', '1Gi', 'a', 'b'));
    const one = withoutContainer(ledger, 'u', 'a');
    expect([one.shared, one.nodes]).toEqual([ledger.shared, ledger.nodes]);
    expect(ledgerProblem(setup, one)).toBeUndefined();
    expect(withoutContainer(one, 'u', 'b')).toEqual(emptyLedger(setup));
  });
});

test('a pod that is aligned as a whole and is refused when it is admitted again has nothing any more', () => {
  const setup = setupWith();
  const pod = (cpus: number): PodRequest => ({
    uid: 'u',
    containers: [{ name: 'a', kind: 'app', cpus, memory: { memory: GIB } }],
  });
  const { ledger } = admitted(setup, emptyLedger(setup), pod(2));
  expect(shown(ledger)).toEqual({ a: '1,5 1024' });
  const again = admitted(setup, ledger, pod(3));
  expect(again.refusal?.reason).toBe('TopologyAffinityError');
  expect(again.ledger).toEqual(emptyLedger(setup));
});

/** The pods and the answers are those of the reference's tests of its CPU manager (TestStaticPolicyAllocatePod). */
test.each<[string, readonly string[], Record<string, string>]>([
  ['2', ['a 1 100'], { a: '2' }],
  ['1', ['a'], { a: '6' }],
  ['3', ['a 1 100', 'b 1 100', 'c'], { a: '6', b: '2', c: '8' }],
  ['2', ['init:i 1 100', 'init:j 1 100', 'a 1 100', 'b 1 100'], { i: '2', j: '2', a: '2', b: '8' }],
  ['3', ['init:i', 'sidecar:s 1 100', 'init:j', 'a 1 100', 'b'], { i: '2,6,8', s: '6', j: '2,8', a: '2', b: '8' }],
  ['3', ['init:i', 'sidecar:s', 'init:j', 'a 1 100', 'b'], { i: '2,6,8', s: '2,8', j: '2,6,8', a: '6', b: '2,8' }],
])('%s CPUs on two sockets with threads are divided among %j as by the reference', (cpus, containers, expected) => {
  const found = describedMachine(
    machineDescription.parse({
      ...{ apiVersion: 'kubus.dev/v1', kind: 'Machine' },
      sockets: [
        { id: 0, cpus: '0,2,4,6,8,10' },
        { id: 1, cpus: '1,3,5,7,9,11' },
      ],
      nodes: [
        { id: 0, cpus: '0,2,4,6,8,10', memory: GIB },
        { id: 1, cpus: '1,3,5,7,9,11', memory: GIB },
      ],
      cores: ['0,6', '1,7', '2,8', '3,9', '4,10', '5,11'],
    }),
  );
  if ('problem' in found) throw new Error(found.problem);
  const setup = exclusiveSetup(found, {
    ...bothManagers,
    ...aligned,
    memoryManagerPolicy: 'None',
    reservedSystemCPUs: '0',
  });
  if ('problem' in setup) throw new Error(setup.problem);
  const pod = podRequest(podOf(cpus, '1Gi', ...containers), 'pod');
  const { ledger } = admitted(setup, emptyLedger(setup), pod);
  const given = Object.entries(ledger.cpus['u'] ?? {}).map(([name, set]) => [name, cpuSetText(set)]);
  expect(Object.fromEntries(given)).toEqual(expected);
});

describe('where containers are aligned on their own, a pod with resources of its own', () => {
  const container: Partial<ExclusiveSettings> = { topologyManagerScope: 'container' };

  test('gives those that request some theirs, and nothing to the others', () => {
    const { ledger, refusal } = admission(podOf('3', '1Gi', 'init:i 1 256', 'a 2 256', 'b'), container, 'container');
    expect([refusal, shown(ledger)]).toEqual([undefined, { i: '4 0', a: '1,5 256', b: ' 0' }]);
  });

  test('is not refused if they have all of it', () => {
    const { refusal } = admission(podOf('2', '1Gi', 'a 2 1024', 'b'), container, 'container');
    expect(refusal).toBeUndefined();
  });

  test('is refused in words of its own', () => {
    const { refusal } = admission(podOf('9', '1Gi', 'a 9 256', 'b'), container, 'container');
    expect(refusal).toMatchObject({
      reason: 'TopologyAffinityError',
      message: 'Pod Scope pod with pod-level resources failed admission with a container-level topology manager',
    });
  });

  test('is refused without a topology policy if a container requests no memory, as the reference has no nodes for it', () => {
    const { refusal } = admission(podOf('2', '1Gi', 'a 1 256', 'b'), { topologyManagerPolicy: 'none' }, 'container');
    expect(refusal).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message:
        'Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
    });
  });
});

test('whatever pods come and go, each CPU has one owner, the ledger can be used again, and in the end nobody has anything', () => {
  const setup = setupWith({ topologyManagerPolicy: 'best-effort' });
  const containers = fc.array(
    fc.record({
      kind: fc.constantFrom('init', 'sidecar', 'app'),
      cpus: fc.integer({ min: 0, max: 2 }),
      mebibytes: fc.integer({ min: 1, max: 256 }),
    }),
    { minLength: 1, maxLength: 4 },
  );
  const pods = fc.record({
    uid: fc.constantFrom('a', 'b', 'c', 'd'),
    cpus: fc.integer({ min: 0, max: 4 }),
    containers,
  });
  fc.assert(
    fc.property(fc.array(pods, { maxLength: 12 }), (steps) => {
      let ledger = emptyLedger(setup);
      for (const { uid, cpus, containers: wanted } of steps) {
        const all = wanted.map(({ kind, cpus: own, mebibytes }, at) => {
          const memory: Readonly<Record<string, number>> = own === 0 ? {} : { memory: mebibytes * MIB };
          return { name: String(at), kind, cpus: own, memory };
        });
        const whole = { cpus, memory: { memory: GIB } };
        const isThere = Object.hasOwn(ledger.podMemory, uid);
        ledger = isThere ? withoutPod(ledger, uid) : admitted(setup, ledger, { uid, containers: all, whole }).ledger;
        const owned = [ledger.shared, ...Object.values(ledger.podCpus)].flat();
        expect(owned.toSorted((a, b) => a - b)).toEqual(allCpus(setup.machine));
        expect(ledgerProblem(setup, ledger)).toBeUndefined();
      }
      for (const uid of Object.keys(ledger.podMemory)) ledger = withoutPod(ledger, uid);
      expect(ledger).toEqual(emptyLedger(setup));
    }),
  );
});

describe('the containers of a pod with resources of its own', () => {
  const policies = { cpus: true, memory: false };

  test.each<[PodLevel, string, string]>([
    ['pod', 'nobody,pod', 'false'],
    ['container', 'nobody,node', 'false'],
    [undefined, 'node,node', 'false'],
  ])('share their CPUs, with %s, with %s', (podLevel, sharing, quota) => {
    const pod = podOf('4', '1Gi', 'a 2 256', 'b');
    expect(['a', 'b'].map((name) => cpuSharing(pod, podLevel, name)).join(',')).toBe(sharing);
    expect(String(isWithoutQuota(pod, podLevel))).toBe(quota);
  });

  test('have a quota together unless each has CPUs for itself', () => {
    expect(isWithoutQuota(podOf('4', '1Gi', 'a 2 256', 'b 2 256'), 'pod')).toBe(true);
    expect(isWithoutQuota(podOf('2500m', '1Gi', 'a 2 256'), 'pod')).toBe(false);
  });

  test('request nothing where the gate is off', () => {
    const pod = podOf('4', '1Gi', 'a 2 256', 'b');
    expect(exclusiveRequest(pod, policies)).toBeUndefined();
    expect(exclusiveRequest(podOf('4', '1Gi', 'a'), { ...policies, podLevel: 'pod' })).toBeDefined();
    expect(exclusiveRequest(podOf('4', '1Gi', 'a'), { ...policies, podLevel: 'container' })).toBeUndefined();
  });
});
