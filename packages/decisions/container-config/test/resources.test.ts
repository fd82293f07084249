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

describe('CPU resources', () => {
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
  ])('translate %j', (asked, settings, expected) => expect(resources(asked, settings)).toMatchObject(expected));

  test('have no quota where limits are not enforced, or where there is no limit', () => {
    const made = resources({ limits: { cpu: '1' } }, { cpuQuota: false });
    expect(made).not.toHaveProperty('cpuQuota');
    expect(made).not.toHaveProperty('cpuPeriod');
    expect(resources({ requests: { cpu: '1' } })).not.toHaveProperty('cpuQuota');
  });

  test('use the pod’s limits for containers without their own', () => {
    const spec = { resources: { limits: { cpu: '2', memory: '1Gi' } } };
    expect(resources({ requests: { cpu: '100m' } }, {}, spec)).toMatchObject({
      cpuQuota: '200000',
      cpuShares: '102',
      memoryLimitInBytes: String(GI),
    });
    expect(resources({ limits: { memory: '1Mi' } }, {}, spec)).toMatchObject({ memoryLimitInBytes: '1048576' });
  });
});

describe('memory resources', () => {
  const tiered = {
    throttlingFactor: 0.9,
    reservation: 'TieredReservation',
    allocatable: 4n * GI,
    pageSize: 4096n,
  } as const;
  const unprotected = { 'memory.min': '0', 'memory.low': '0' };
  const limited = { behavior: 'LimitedSwap', capacity: 2n * GI } as const;

  test.each<[string, Resources, Partial<ContainerResourceSettings>, object]>([
    [
      'no swap',
      { limits: { memory: '1Gi' } },
      { swap: { behavior: 'NoSwap', capacity: GI } },
      { 'memory.swap.max': '0' },
    ],
    ['a share of the swap', { requests: { memory: '1Gi' } }, { swap: limited }, { 'memory.swap.max': String(GI / 4n) }],
    [
      'no swap when request and limit are equal',
      { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } },
      { swap: limited },
      { 'memory.swap.max': '0' },
    ],
    ['no swap for best effort', {}, { swap: limited }, { 'memory.swap.max': '0' }],
    [
      'no swap for a container without a memory request',
      { requests: { cpu: '1' } },
      { swap: limited },
      { 'memory.swap.max': '0' },
    ],
    [
      'no swap for a request that the node does not have',
      { requests: { memory: '9Gi' } },
      { swap: limited },
      { 'memory.swap.max': '0' },
    ],
    [
      'a share that the reference rounds down',
      { requests: { memory: '100Mi' } },
      { swap: { behavior: 'LimitedSwap', capacity: 1000n } },
      { 'memory.swap.max': '12' },
    ],
    [
      'soft protection of a burstable container',
      { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } },
      { memoryQos: tiered },
      { 'memory.low': String(GI), 'memory.high': '2040107008' },
    ],
    [
      'throttling below the node’s allocatable memory without a limit',
      { requests: { memory: '1Gi' } },
      { memoryQos: { ...tiered, reservation: 'None' } },
      { ...unprotected, 'memory.high': '3972841472' },
    ],
    [
      'hard protection of a guaranteed container',
      { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
      { memoryQos: tiered },
      { 'memory.min': String(GI) },
    ],
    ['no protection and no throttling of best effort', {}, { memoryQos: tiered }, unprotected],
    [
      'no throttling without a limit where the node’s allocatable memory is not known',
      { requests: { memory: '1Gi' } },
      { memoryQos: { ...tiered, allocatable: 0n } },
      { 'memory.low': String(GI) },
    ],
    [
      'throttling at whole pages',
      { requests: { memory: '1000' }, limits: { memory: '99999' } },
      { memoryQos: { ...tiered, throttlingFactor: 0.5, pageSize: 16_384n } },
      { 'memory.low': '1000', 'memory.high': '49152' },
    ],
    [
      'no throttling where the range is less than a page',
      { requests: { memory: '4096' }, limits: { memory: '5000' } },
      { memoryQos: tiered },
      { 'memory.low': '4096' },
    ],
  ])('on cgroup v2: %s', (_, asked, settings, expected) => {
    const made = resources(asked, { cgroupVersion: 2, ...settings });
    expect(made.unified).toEqual({ 'memory.oom.group': '1', ...expected });
    expect(made).not.toHaveProperty('memorySwapLimitInBytes');
  });

  test('on cgroup v2 kill a single process where the node is configured so', () => {
    expect(resources({}, { cgroupVersion: 2, singleProcessOomKill: true })).not.toHaveProperty('unified');
  });

  test('allow no swap for a critical pod', () => {
    const asked = { requests: { memory: '1Gi' } };
    const made = resources(asked, { cgroupVersion: 2, swap: limited }, { priority: 2_000_001_000 });
    expect(made.unified).toMatchObject({ 'memory.swap.max': '0' });
  });

  test('on cgroup v1 limit memory and swap together', () => {
    expect(resources({ limits: { memory: '1Gi' } }, { swap: limited })).toMatchObject({
      memorySwapLimitInBytes: String(GI),
    });
    expect(resources({}, { swap: limited })).not.toHaveProperty('memorySwapLimitInBytes');
    expect(resources({ limits: { memory: '1Gi' } })).not.toHaveProperty('memorySwapLimitInBytes');
  });

  test('limit every huge page size that the kernel supports', () => {
    const settings = { hugepageSizes: [2n * 1024n ** 2n, GI, 64n * 1024n] };
    const spec = { resources: { limits: { 'hugepages-1Gi': '2Gi', 'hugepages-2Mi': '8Mi' } } };
    expect(resources({ limits: { 'hugepages-2Mi': '4Mi' } }, settings, spec).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: '4194304' },
      { pageSize: '1GB', limit: '2147483648' },
      { pageSize: '64KB', limit: '0' },
    ]);
  });
});

describe('the OOM score', () => {
  const score = (...args: Parameters<typeof resources>) => Number(resources(...args).oomScoreAdj);

  test.each<[string, number, Parameters<typeof resources>]>([
    ['guaranteed', -997, [{ limits: { cpu: '1', memory: '1Gi' } }]],
    ['best effort', 1000, [{}]],
    ['burstable', 875, [{ requests: { memory: '1Gi' } }]],
    ['burstable without a memory request', 999, [{ requests: { cpu: '1' } }]],
    ['burstable that requests all memory', 3, [{ requests: { memory: '8Gi' } }]],
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
      'mirror pod of a node critical one',
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
  ])('of a pod: %s', (_, expected, args) => expect(score(...args)).toBe(expected));

  test('of a sidecar is not above that of the containers that it serves', () => {
    const sidecar = { name: 's', restartPolicy: 'Always', resources: { requests: { memory: '512Mi' } } };
    const regular = (memory: string) => ({ name: `r${memory}`, resources: { requests: { memory } } });
    const of = pod({ initContainers: [sidecar], containers: [regular('2Gi'), regular('1Gi')] });
    const made = (container: Container) => containerResources(of, container, { memoryCapacity: 8n * GI }).oomScoreAdj;
    expect(made(sidecar)).toBe('875');
    expect(made({ ...sidecar, name: 'init' })).toBe('938');
  });

  test('includes equal parts of a pod-level request', () => {
    const asked = { requests: { memory: '1Gi' } };
    expect(score(asked, {}, { resources: { requests: { memory: '2Gi' } } })).toBe(750);
    const two = [{ name: 'c', resources: asked }, { name: 'd' }];
    expect(score(asked, {}, { containers: two, resources: { requests: { memory: '3Gi' } } })).toBe(750);
    expect(score(asked, {}, { resources: { requests: { memory: '512Mi' } } })).toBe(875);
  });

  test('of burstable pods is between the others, and lower the more memory they request', () => {
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

describe('sandbox resources', () => {
  const container = (name: string, resources: Resources, restartPolicy?: string): Container => ({
    name,
    ...(resources !== undefined && { resources }),
    ...(restartPolicy !== undefined && { restartPolicy }),
  });
  const asked = { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } };

  test('are the sum of its containers, including sidecars', () => {
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

  test('are the pod-level resources where it has any, with the overhead apart', () => {
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
