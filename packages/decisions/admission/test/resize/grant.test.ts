import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import type { ExclusivePolicies } from '@kubus/exclusive';
import fc from 'fast-check';
import {
  type WantedResize,
  allocationOf,
  compareResizes,
  refuseResize,
  safeSysctls,
  sameAllocation,
  sysctlNamespace,
  withActual,
  withAllocation,
} from '../../src/index.ts';
import { STATIC, asking, neighbour, node } from '../neighbours.ts';

describe('an allocation', () => {
  const pod = (generation: number, cpu: string, init = '1'): Pod =>
    asking(
      { cpu, memory: '1Gi' },
      {
        metadata: { generation },
        spec: { initContainers: [{ name: 'i', resources: { limits: { cpu: init } } }], resources: { limits: { cpu } } },
      },
    );

  test('is the same for every generation and notation', () => {
    expect(sameAllocation(allocationOf(pod(1, '1')), allocationOf(pod(2, '1000m')))).toBe(true);
    expect(sameAllocation(allocationOf(pod(1, '1')), allocationOf(pod(1, '2')))).toBe(false);
    expect(sameAllocation(allocationOf(pod(1, '1')), allocationOf(pod(1, '1', '2')))).toBe(false);
    expect(sameAllocation(allocationOf(asking({})), allocationOf(asking({ cpu: '0' })))).toBe(false);
  });

  test('replaces only the resources of a pod', () => {
    const [granted, wanted] = [pod(1, '1'), { ...pod(2, '2', '3'), status: { phase: 'Running' } }];
    expect(withAllocation(wanted, allocationOf(granted))).toEqual({
      ...granted,
      metadata: wanted.metadata,
      status: wanted.status,
    });
    expect(withAllocation(wanted, allocationOf(wanted))).toBe(wanted);
    const plain = asking({ cpu: '1' });
    expect(withAllocation(pod(2, '2'), allocationOf(plain)).spec).not.toHaveProperty('resources');
  });

  test('counts as what the pod still has, where that is more', () => {
    const claim = { requests: { cpu: '1', memory: '2Gi' }, hostPorts: [] };
    expect(withActual(claim, { cpu: '1500m', memory: '1Gi', 'example.com/a': '1' }).requests).toEqual({
      cpu: '1500m',
      memory: '2Gi',
      'example.com/a': '1',
    });
  });
});

describe('a resize', () => {
  const refusal = (one: Pod, before: Pod, ...neighbours: Pod[]) => {
    const others = neighbours.map((other, index) => neighbour(String(index), other));
    const { reason, message } = refuseResize(one, allocationOf(before), others, node) ?? {};
    return reason === undefined ? 'granted' : `${reason}: ${message ?? ''}`;
  };

  test.each([
    ['fits', asking({ cpu: '1500m' }), asking({ cpu: '1' }), 'granted'],
    [
      'does not fit in addition to the other pods',
      asking({ cpu: '1501m' }),
      asking({ cpu: '1' }),
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 1501, used: 500, capacity: 2000",
    ],
    [
      'belongs to a static pod',
      asking({ cpu: '1500m' }, { metadata: STATIC }),
      asking({ cpu: '1' }),
      'Infeasible: In-place resize of static-pods is not supported',
    ],
    [
      'changes the QoS class',
      asking({ cpu: '1', memory: '1Mi' }, { equal: true }),
      asking({ cpu: '1' }),
      'Infeasible: Pod QOS Class may not change as a result of resizing',
    ],
    [
      'requires other pods to end',
      asking({ cpu: '2' }, { spec: { priority: 2_000_000_000 } }),
      asking({ cpu: '1' }),
      'Deferred: less important pods use the resources',
    ],
  ])('that %s is refused', (_name, one, before, expected) => {
    expect(refusal(one, before, asking({ cpu: '500m' }))).toBe(expected);
  });

  const swaps = (memory: string, restartPolicy = 'NotRequired', spec: Partial<Pod['spec']> = {}): Pod =>
    asking({ cpu: '1', memory }, { spec: { ...policies(memory, restartPolicy), ...spec } });
  const policies = (memory: string, restartPolicy: string) => ({
    containers: [
      {
        ...{ name: 'c', image: 'busybox', resources: { requests: { cpu: '1', memory } } },
        resizePolicy: [{ resourceName: 'memory', restartPolicy }],
      },
    ],
  });
  const noSwap = 'Infeasible: In-place resize of containers with swap is not supported.';

  test.each<[string, Pod, Pod, boolean, string]>([
    ['another memory request', swaps('200Mi'), swaps('100Mi'), true, noSwap],
    ['another memory request, with a restart', swaps('200Mi', 'RestartContainer'), swaps('100Mi'), true, 'granted'],
    ['the same request in other words', swaps('1024Ki'), swaps('1Mi'), true, 'granted'],
    ['a critical pod', swaps('200Mi', '', { priority: 2e9 }), swaps('100Mi', '', { priority: 2e9 }), true, 'granted'],
    ['no swap on the node', swaps('200Mi'), swaps('100Mi'), false, 'granted'],
    [
      'a guaranteed pod',
      asking({ cpu: '1', memory: '2Mi' }, { equal: true }),
      asking({ cpu: '1', memory: '1Mi' }, { equal: true }),
      true,
      'granted',
    ],
  ])('with %s, where containers may swap', (_name, one, before, limitedSwap, expected) => {
    const { reason, message } = refuseResize(one, allocationOf(before), [], { ...node, limitedSwap }) ?? {};
    expect(reason === undefined ? 'granted' : `${reason}: ${message ?? ''}`).toBe(expected);
  });
});

test.each([
  ['CPUs of its own', '2', '256Mi', { cpus: true, memory: true }, 'CPU Manager policy "static"'],
  ['memory of its own', '1', '512Mi', { cpus: true, memory: true }, 'Memory Manager policy "Static"'],
  ['CPUs where only memory is its own', '2', '256Mi', { cpus: false, memory: true }, undefined],
  ['memory where only CPUs are its own', '1', '512Mi', { cpus: true, memory: false }, undefined],
])('a Guaranteed pod changes %s', (_name, cpu, memory, exclusive, manager) => {
  const guaranteed = (amounts: Record<string, string>): Pod => ({
    ...asking(amounts),
    spec: { containers: [{ name: 'c', resources: { requests: amounts, limits: amounts } }] },
  });
  const before = allocationOf(guaranteed({ cpu: '1', memory: '256Mi' }));
  const found = refuseResize(guaranteed({ cpu, memory }), before, [], { ...node, exclusive });
  const message = `Resize is infeasible for Guaranteed Pods alongside ${manager ?? ''}`;
  expect(found).toEqual(manager === undefined ? undefined : { reason: 'Infeasible', message });
});

describe('a Guaranteed pod whose containers stay as they are changes what it requests as a whole', () => {
  const amounts = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
  const podOf = (cpu?: string, memory = '512Mi'): Pod => ({
    ...asking({}),
    spec: {
      containers: [{ name: 'c', resources: amounts('1', '256Mi') }],
      ...(cpu !== undefined && { resources: amounts(cpu, memory) }),
    },
  });

  test.each<[string, Pod, Pod, ExclusivePolicies, string | undefined]>([
    ['its CPUs', podOf('2'), podOf('1'), { cpus: true, memory: true, podLevel: 'pod' }, 'CPU Manager policy "static"'],
    [
      'its memory',
      podOf('1', '768Mi'),
      podOf('1'),
      { cpus: true, memory: true, podLevel: 'pod' },
      'Memory Manager policy "Static"',
    ],
    [
      'CPUs, where it has memory only',
      podOf('2'),
      podOf('1'),
      { cpus: false, memory: true, podLevel: 'pod' },
      undefined,
    ],
    [
      'CPUs, where its containers have theirs on their own',
      podOf('2'),
      podOf('1'),
      { cpus: true, memory: true, podLevel: 'container' },
      undefined,
    ],
    ['CPUs, where it has nothing for itself', podOf('2'), podOf('1'), { cpus: true, memory: true }, undefined],
    [
      'from nothing, so that its containers would have nothing for themselves',
      podOf('2'),
      podOf(),
      { cpus: true, memory: true },
      'CPU Manager policy "static"',
    ],
  ])('%s', (_name, pod, before, exclusive, manager) => {
    const message = `Resize is infeasible for Guaranteed Pods alongside ${manager ?? ''}`;
    const expected = manager === undefined ? undefined : { reason: 'Infeasible', message };
    expect(refuseResize(pod, allocationOf(before), [], { ...node, exclusive })).toEqual(expected);
  });
});

test('those without additional resources come first, then by priority, QoS class and time', () => {
  const wanted = (name: string, to: string, more: object = {}, minute = 0): [string, WantedResize] => {
    const granted = allocationOf(asking({ cpu: '2', memory: '1' }));
    return [name, { pod: asking({ cpu: to, memory: '1' }, more), granted, since: `2030-01-01T00:0${minute}:00Z` }];
  };
  const inOrder = [
    wanted('shrinks', '1'),
    wanted('important', '3', { spec: { priority: 7 } }),
    wanted('guaranteed', '3', { equal: true }, 9),
    wanted('early', '3', {}, 1),
    wanted('late', '3', {}, 2),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(inOrder, { minLength: inOrder.length }), (shuffled) => {
      const sorted = shuffled.sort(([, a], [, b]) => compareResizes(a, b));
      expect(sorted.map(([name]) => name)).toEqual(inOrder.map(([name]) => name));
    }),
  );
});

describe('sysctls', () => {
  test.each([
    ['6.1.0-18-amd64', 12],
    ['4.6.0', 10],
    ['4.5.0', 9],
    ['3.16.0', 6],
    ['3.10.0', 5],
  ])('that are safe on kernel %s are as many as expected', (release, count) => {
    expect(safeSysctls(release)).toHaveLength(count);
  });

  test.each([
    ['net.core.*', 'Net'],
    ['net.*', 'Net'],
    ['kernel.shm*', 'IPC'],
    ['kernel/msgmax', 'IPC'],
    ['fs.mqueue.*', 'IPC'],
    ['kernel.*', undefined],
    ['network.x', undefined],
    ['vm.swappiness', undefined],
  ])('%s is of the namespace %s', (pattern, namespace) => {
    expect(sysctlNamespace(pattern)).toBe(namespace);
  });
});
