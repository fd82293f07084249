import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Container, Pod } from '@kubus/contracts';
import fc from 'fast-check';
import {
  type ContainerResourceSettings,
  type ResourceSettings,
  containerResources,
  sandboxConfig,
} from '../src/index.ts';

const GI = 1024n ** 3n;
type Resources = Container['resources'];

function resources(
  resources: Resources,
  settings: Partial<ContainerResourceSettings> = {},
  spec: Partial<Pod['spec']> = {},
  metadata: Partial<Pod['metadata']> = {},
) {
  const container = { name: 'c', ...(resources !== undefined && { resources }) };
  return containerResources(pod({ containers: [container], ...spec }, metadata), container, {
    memoryCapacity: 8n * GI,
    ...settings,
  });
}

function sandbox(spec: Partial<Pod['spec']>, settings: ResourceSettings = {}) {
  return sandboxConfig(pod(spec), { attempt: 0, logDirectory: '/l', cgroupParent: '/p', ...settings }).linux;
}

describe('CPU', () => {
  test.each<[Resources, Partial<ContainerResourceSettings>, object]>([
    [{ requests: { cpu: '100m' } }, {}, { cpuShares: '102', cpuPeriod: '100000' }],
    [{ requests: { cpu: '0' }, limits: { cpu: '1' } }, {}, { cpuShares: '2', cpuQuota: '100000' }],
    [{ requests: { cpu: '1000' } }, {}, { cpuShares: '262144' }],
    [{ limits: { cpu: '500m' } }, { cpuPeriodUs: 10_000n }, { cpuPeriod: '10000', cpuQuota: '5000' }],
    [
      { limits: { cpu: '1' } },
      { exclusiveCpus: true, cpuset: { cpus: '2-3', mems: '0' } },
      { cpuQuota: '-1', cpusetCpus: '2-3', cpusetMems: '0' },
    ],
  ])('%j', (asked, settings, expected) => expect(resources(asked, settings)).toMatchObject(expected));

  test('no quota where limits are not enforced, or where there is none', () => {
    const made = resources({ limits: { cpu: '1' } }, { cpuQuota: false });
    expect(made).not.toHaveProperty('cpuQuota');
    expect(made).not.toHaveProperty('cpuPeriod');
    expect(resources({ requests: { cpu: '1' } })).not.toHaveProperty('cpuQuota');
  });

  test('the pod’s limits hold for containers that have none', () => {
    const spec = { resources: { limits: { cpu: '2', memory: '1Gi' } } };
    expect(resources({ requests: { cpu: '100m' } }, {}, spec)).toMatchObject({
      cpuQuota: '200000',
      cpuShares: '102',
      memoryLimitInBytes: String(GI),
    });
    expect(resources({ limits: { memory: '1Mi' } }, {}, spec)).toMatchObject({ memoryLimitInBytes: '1048576' });
  });
});

describe('memory', () => {
  const tiered = {
    throttlingFactor: 0.9,
    reservation: 'TieredReservation',
    allocatable: 4n * GI,
    pageSize: 4096n,
  } as const;
  const limited = { behavior: 'LimitedSwap', capacity: 2n * GI } as const;

  test.each<[string, Resources, Partial<ContainerResourceSettings>, object]>([
    [
      'no swap',
      { limits: { memory: '1Gi' } },
      { swap: { behavior: 'NoSwap', capacity: GI } },
      { 'memory.swap.max': '0' },
    ],
    [
      'its part of the swap',
      { requests: { memory: '1Gi' } },
      { swap: limited },
      { 'memory.swap.max': String(GI / 4n) },
    ],
    [
      'no room for swap',
      { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } },
      { swap: limited },
      { 'memory.swap.max': '0' },
    ],
    ['best effort', {}, { swap: limited }, { 'memory.swap.max': '0' }],
    [
      'a burstable one is kept softly',
      { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } },
      { memoryQos: tiered },
      { 'memory.low': String(GI), 'memory.high': '2040107008' },
    ],
    [
      'without a limit, what the node has',
      { requests: { memory: '1Gi' } },
      { memoryQos: { ...tiered, reservation: 'None' } },
      { 'memory.high': '3972841472' },
    ],
    [
      'a guaranteed one is kept',
      { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
      { memoryQos: tiered },
      { 'memory.min': String(GI) },
    ],
  ])('cgroups v2: %s', (_, asked, settings, expected) => {
    const made = resources(asked, { cgroupVersion: 2, ...settings });
    expect(made.unified).toEqual({ 'memory.oom.group': '1', ...expected });
    expect(made).not.toHaveProperty('memorySwapLimitInBytes');
  });

  test('cgroups v2: a single process is ended where the node wants that', () => {
    expect(resources({}, { cgroupVersion: 2, singleProcessOomKill: true })).not.toHaveProperty('unified');
  });

  test('a critical pod does not swap', () => {
    const asked = { requests: { memory: '1Gi' } };
    const made = resources(asked, { cgroupVersion: 2, swap: limited }, { priority: 2_000_001_000 });
    expect(made.unified).toMatchObject({ 'memory.swap.max': '0' });
  });

  test('cgroups v1: memory and swap together', () => {
    expect(resources({ limits: { memory: '1Gi' } }, { swap: limited })).toMatchObject({
      memorySwapLimitInBytes: String(GI),
    });
    expect(resources({}, { swap: limited })).not.toHaveProperty('memorySwapLimitInBytes');
    expect(resources({ limits: { memory: '1Gi' } })).not.toHaveProperty('memorySwapLimitInBytes');
  });

  test('huge pages: a limit for every size that the kernel has', () => {
    const settings = { hugepageSizes: [2n * 1024n ** 2n, GI, 64n * 1024n] };
    const spec = { resources: { limits: { 'hugepages-1Gi': '2Gi', 'hugepages-2Mi': '8Mi' } } };
    expect(resources({ limits: { 'hugepages-2Mi': '4Mi' } }, settings, spec).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: '4194304' },
      { pageSize: '1GB', limit: '2147483648' },
      { pageSize: '64KB', limit: '0' },
    ]);
  });
});

describe('OOM score', () => {
  const score = (...args: Parameters<typeof resources>) => Number(resources(...args).oomScoreAdj);

  test.each<[string, number, Parameters<typeof resources>]>([
    ['guaranteed', -997, [{ limits: { cpu: '1', memory: '1Gi' } }]],
    ['best effort', 1000, [{}]],
    ['burstable', 875, [{ requests: { memory: '1Gi' } }]],
    ['burstable that asks for nothing here', 999, [{ requests: { cpu: '1' } }]],
    ['burstable that asks for all', 3, [{ requests: { memory: '8Gi' } }]],
    ['node critical', -997, [{}, {}, { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }]],
    [
      'static and node critical',
      -997,
      [
        {},
        {},
        { priorityClassName: 'system-node-critical' },
        { annotations: { 'kubernetes.io/config.source': 'file' } },
      ],
    ],
    [
      'mirror of a node critical',
      -997,
      [{}, {}, { priorityClassName: 'system-node-critical' }, { annotations: { 'kubernetes.io/config.mirror': 'h' } }],
    ],
    [
      'critical by name alone',
      1000,
      [
        {},
        {},
        { priorityClassName: 'system-node-critical' },
        { annotations: { 'kubernetes.io/config.source': 'api' } },
      ],
    ],
  ])('%s', (_, expected, args) => expect(score(...args)).toBe(expected));

  test('a sidecar is not ended before what it serves', () => {
    const sidecar = { name: 's', restartPolicy: 'Always', resources: { requests: { memory: '512Mi' } } };
    const regular = (memory: string) => ({ name: `r${memory}`, resources: { requests: { memory } } });
    const of = pod({ initContainers: [sidecar], containers: [regular('2Gi'), regular('1Gi')] });
    const made = (container: Container) => containerResources(of, container, { memoryCapacity: 8n * GI }).oomScoreAdj;
    expect(made(sidecar)).toBe('875');
    expect(made({ ...sidecar, name: 'init' })).toBe('938');
  });

  test('what the pod as a whole asks for counts in equal parts', () => {
    const asked = { requests: { memory: '1Gi' } };
    expect(score(asked, {}, { resources: { requests: { memory: '2Gi' } } })).toBe(750);
    const two = [{ name: 'c', resources: asked }, { name: 'd' }];
    expect(score(asked, {}, { containers: two, resources: { requests: { memory: '3Gi' } } })).toBe(750);
    expect(score(asked, {}, { resources: { requests: { memory: '512Mi' } } })).toBe(875);
  });

  test('burstable pods stand between the others, and lower the more they ask for', () => {
    const bytes = fc.bigInt({ min: 1n, max: 16n * GI });
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        const scores = [less, more].map((memory) => score({ requests: { memory: `${memory}` } }));
        expect(scores.every((score) => score >= 3 && score <= 999)).toBe(true);
        expect(scores[0]).toBeGreaterThanOrEqual(scores[1] ?? 0);
      }),
    );
  });
});

describe('sandbox', () => {
  const container = (name: string, resources: Resources, restartPolicy?: string): Container => ({
    name,
    ...(resources !== undefined && { resources }),
    ...(restartPolicy !== undefined && { restartPolicy }),
  });
  const asked = { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } };

  test('the sum of its containers, with sidecars', () => {
    const spec = {
      initContainers: [container('side', asked, 'Always'), container('init', { limits: { memory: '512Mi' } })],
      containers: [container('a', asked), container('b', {})],
    };
    expect(sandbox(spec)?.resources).toEqual({
      cpuShares: '1024',
      cpuPeriod: '100000',
      cpuQuota: '200000',
      memoryLimitInBytes: String(2n * GI),
    });
  });

  test('what the pod says of itself wins, and overhead stands beside it', () => {
    const spec = {
      containers: [container('a', asked)],
      resources: { requests: { cpu: '2' }, limits: { memory: '4Gi' } },
      overhead: { cpu: '250m', memory: '64Mi' },
    };
    const made = sandbox(spec, { exclusiveCpus: true, cgroupVersion: 2 });
    const unified = { 'memory.oom.group': '1' };
    expect(made?.resources).toMatchObject({
      cpuShares: '2048',
      cpuQuota: '-1',
      memoryLimitInBytes: String(4n * GI),
      unified,
    });
    expect(made?.overhead).toEqual({
      cpuShares: '256',
      cpuPeriod: '100000',
      cpuQuota: '25000',
      memoryLimitInBytes: '67108864',
      unified,
    });
  });
});
