import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import {
  allPodsLimits,
  cgroupFiles,
  cpuSharesOf,
  cpuWeight,
  cpusOfList,
  limitProperties,
  milliCpuOf,
  namedPath,
  podLimits,
  podMemoryLimit,
  podMilliCpu,
  podOfCgroup,
  podPath,
  roundedLimits,
  sharedLimits,
  sliceProperties,
  tierLimits,
  tierPath,
} from '../src/index.ts';

const uid = '0b7a8c1e-1111-4222-8333-944455556666';
const MiB = 1024n * 1024n;

describe('the name of a cgroup', () => {
  test.each([
    ['cgroupfs', '/', 'Guaranteed', `/kubepods/pod${uid}`],
    ['cgroupfs', '/', 'Burstable', `/kubepods/burstable/pod${uid}`],
    ['cgroupfs', '/kubus-node0', 'BestEffort', `/kubus-node0/kubepods/besteffort/pod${uid}`],
    ['systemd', '/', 'Guaranteed', '/kubepods.slice/kubepods-pod0b7a8c1e_1111_4222_8333_944455556666.slice'],
    [
      'systemd',
      '/',
      'Burstable',
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b7a8c1e_1111_4222_8333_944455556666.slice',
    ],
    [
      'systemd',
      '/kubus-node0',
      'BestEffort',
      '/kubus_node0.slice/kubus_node0-kubepods.slice/kubus_node0-kubepods-besteffort.slice/' +
        'kubus_node0-kubepods-besteffort-pod0b7a8c1e_1111_4222_8333_944455556666.slice',
    ],
  ] as const)('with driver %s below %s of class %s is %s', (driver, root, qos, expected) => {
    const path = podPath({ driver, root }, uid, qos);
    expect(path).toBe(expected);
    expect(podOfCgroup(path.slice(path.lastIndexOf('/') + 1), driver)).toBe(uid);
  });

  test.each([
    ['cgroupfs', 'burstable'],
    ['systemd', 'kubepods-burstable.slice'],
    ['systemd', 'cpu.shares'],
  ] as const)('with driver %s %j is not a pod’s cgroup', (driver, name) => {
    expect(podOfCgroup(name, driver)).toBeUndefined();
  });

  test('of a tier is the parent path of its pods’ cgroups', () => {
    const naming = { root: '/a-b', driver: 'systemd' } as const;
    expect(podPath(naming, 'u', 'Burstable')).toBe(
      `${tierPath(naming, 'burstable')}/a_b-kubepods-burstable-podu.slice`,
    );
  });
});

type Resources = { requests?: Record<string, string>; limits?: Record<string, string> };
function pod(containers: Resources[], spec: Partial<Pod['spec']> = {}): Pick<Pod, 'spec'> {
  return { spec: { containers: containers.map((resources, index) => ({ name: `c${index}`, resources })), ...spec } };
}
const both = (list: Record<string, string>): Resources => ({ requests: list, limits: list });

describe('a pod’s limits', () => {
  test.each<[string, Pick<Pod, 'spec'>, object]>([
    ['nothing requested', pod([{}]), { cpuShares: 2n, cpu: 'max', memory: 'max' }],
    [
      'guaranteed',
      pod([both({ cpu: '500m', memory: '64Mi' }), both({ cpu: '1', memory: '64Mi' })]),
      { cpuShares: 1536n, cpu: { quotaUs: 150_000n, periodUs: 100_000n }, memory: 128n * MiB },
    ],
    [
      'burstable, all containers limited',
      pod([{ requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } }]),
      { cpuShares: 102n, cpu: { quotaUs: 20_000n, periodUs: 100_000n }, memory: 64n * MiB },
    ],
    [
      'burstable, one container without limits',
      pod([{ requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } }, { requests: { cpu: '100m' } }]),
      { cpuShares: 204n, cpu: 'max', memory: 'max' },
    ],
    [
      'an init container without a memory limit',
      pod([both({ cpu: '1', memory: '64Mi' })], { initContainers: [{ name: 'i', resources: both({ cpu: '2' }) }] }),
      { cpuShares: 2048n, cpu: { quotaUs: 200_000n, periodUs: 100_000n }, memory: 'max' },
    ],
    [
      'limits of the pod itself',
      pod([{ requests: { cpu: '100m' } }], {
        resources: { limits: { memory: '1Gi', cpu: '2' }, requests: { cpu: '1' } },
      }),
      { cpuShares: 1024n, cpu: { quotaUs: 200_000n, periodUs: 100_000n }, memory: 1024n * MiB },
    ],
    [
      'overhead, only where there is a limit',
      pod([{ requests: { cpu: '100m' }, limits: { memory: '64Mi' } }], { overhead: { cpu: '100m', memory: '16Mi' } }),
      { cpuShares: 204n, cpu: 'max', memory: 80n * MiB },
    ],
    [
      'the least quota',
      pod([both({ cpu: '1m', memory: '1Mi' })]),
      { cpuShares: 2n, cpu: { quotaUs: 1_000n, periodUs: 100_000n }, memory: MiB },
    ],
  ])('are computed for: %s', (_, of, expected) => {
    expect(podLimits(of)).toEqual(expected);
  });

  test('follow the node’s settings', () => {
    const of = pod([both({ cpu: '500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' })]);
    expect(podLimits(of, { cpuQuota: false, pids: 10n })).toEqual({
      cpuShares: 512n,
      cpu: 'max',
      memory: 64n * MiB,
      pids: 10n,
    });
    expect(podLimits(of, { cpuPeriodUs: 10_000n }).cpu).toEqual({ quotaUs: 5_000n, periodUs: 10_000n });
    expect(podLimits(of, { isUnlimited: () => true }).cpu).toBe('max');
    expect(podLimits(of, { hugepageSizes: [2n * MiB, 1024n * MiB] }).hugepages).toEqual(
      new Map([
        [2n * MiB, 4n * MiB],
        [1024n * MiB, 0n],
      ]),
    );
  });

  test.each<[string, Pick<Pod, 'spec'>, object]>([
    ['a guaranteed pod', pod([both({ cpu: '1', memory: '64Mi' })]), { memoryMin: 64n * MiB }],
    [
      'a burstable pod with overhead',
      pod([{ requests: { memory: '64Mi' } }, { requests: { memory: '1Mi' } }], { overhead: { memory: '16Mi' } }),
      { memoryLow: 81n * MiB },
    ],
    [
      'the request of the pod itself',
      pod([{ requests: { memory: '64Mi' } }], { resources: { requests: { memory: '1Gi' } } }),
      { memoryLow: 1024n * MiB },
    ],
    ['a pod that requests no memory', pod([{ requests: { cpu: '1' } }]), {}],
    ['best effort', pod([{}]), {}],
  ])('protect memory that is requested, where the node does so: %s', (_, of, expected) => {
    const { memoryMin, memoryLow } = podLimits(of, { memoryReservation: 'TieredReservation' });
    expect({ memoryMin, memoryLow }).toEqual({ memoryMin: undefined, memoryLow: undefined, ...expected });
    for (const settings of [{}, { memoryReservation: 'None' }] as const) {
      expect(podLimits(of, settings)).not.toHaveProperty('memoryMin');
      expect(podLimits(of, settings)).not.toHaveProperty('memoryLow');
    }
  });

  test('can be read for memory alone', () => {
    expect(podMemoryLimit(pod([both({ memory: '64Mi' })]))).toBe(64n * MiB);
    expect(podMemoryLimit(pod([both({ memory: '64Mi' }), {}]))).toBeUndefined();
  });
});

test('each tier has its own limits', () => {
  const unbounded = { hugepages: new Map([[2n * MiB, 1n << 62n]]) };
  expect(tierLimits('besteffort', 4n, [2n * MiB])).toEqual({ cpuShares: 2n, ...unbounded });
  expect(tierLimits('burstable', 0n)).toEqual({ cpuShares: 2n });
  expect(tierLimits('burstable', podMilliCpu(pod([both({ cpu: '100m' }), both({ cpu: '1' })])))).toEqual({
    cpuShares: 1126n,
  });
  expect(tierLimits('burstable', 400_000n)).toEqual({ cpuShares: 262_144n });
});

test('all pods together get what the node has, and any huge pages', () => {
  const resources = { cpu: '1500m', memory: '1Gi', pid: '1000', 'hugepages-2Mi': '4Mi' };
  expect(allPodsLimits(resources, { hugepageSizes: [2n * MiB], cpus: [0] })).toEqual({
    cpuShares: 1536n,
    memory: 1024n * MiB,
    pids: 1000n,
    hugepages: new Map([[2n * MiB, 1n << 62n]]),
    cpus: [0],
  });
  expect(allPodsLimits({ cpu: '1' })).toEqual({ cpuShares: 1024n });
});

describe('a cgroup with a list of resources', () => {
  const resources = { cpu: '1500m', memory: '1Gi', pid: '1000', 'hugepages-2Mi': '4Mi', 'ephemeral-storage': '1Gi' };
  const hugepageSizes = [2n * MiB, 1024n * MiB];

  test.each<[string, Parameters<typeof sharedLimits>, object]>([
    [
      'gets all of it',
      [resources, { hugepageSizes, cpus: [0, 1] }],
      {
        cpuShares: 1536n,
        memory: 1024n * MiB,
        pids: 1000n,
        hugepages: new Map([
          [2n * MiB, 4n * MiB],
          [1024n * MiB, 0n],
        ]),
        cpus: [0, 1],
      },
    ],
    ['gets only its CPU shares when compressible', [resources, { compressible: true }], { cpuShares: 1536n }],
    ['is not limited for resources that are not listed', [{ pid: '5' }], { pids: 5n }],
    [
      'has its memory protected where the node does so',
      [{ memory: '1Gi' }, { protectsMemory: true }],
      { memory: 1024n * MiB, memoryMin: 1024n * MiB },
    ],
    [
      'has nothing to protect when compressible',
      [resources, { compressible: true, protectsMemory: true }],
      { cpuShares: 1536n },
    ],
    ['protects memory of 0', [{ memory: '0' }, { protectsMemory: true }], { memoryMin: 0n }],
    ['is not limited for memory of 0', [{ cpu: '0', memory: '0' }], { cpuShares: 2n }],
  ])('%s', (_, given, expected) => {
    expect(sharedLimits(...given)).toEqual(expected);
  });

  test.each([
    ['cgroupfs', '/system', '/system'],
    ['cgroupfs', 'a/b', '/a/b'],
    ['systemd', '/system.slice', '/system.slice'],
    ['systemd', 'kube-reserved', '/kube.slice/kube-reserved.slice'],
    ['systemd', '/kube.slice/kube-reserved_a.slice', '/kube.slice/kube-reserved_a.slice'],
  ] as const)('with driver %s is in %s: %s', (driver, name, path) => {
    expect(namedPath(name, driver)).toBe(path);
  });
});

describe('the unit of a cgroup', () => {
  const all = {
    cpuShares: 1024n,
    cpu: { quotaUs: 50_000n, periodUs: 100_000n },
    memory: 5n,
    pids: 0n,
    hugepages: new Map([[2n * MiB, 9n]]),
    cpus: [0, 1, 9],
  };
  const infinity = 18_446_744_073_709_551_615n;

  test('has properties for its limits', () => {
    expect(limitProperties(all, 2)).toEqual([
      ['CPUWeight', 't', 39n],
      ['CPUQuotaPeriodUSec', 't', 100_000n],
      ['CPUQuotaPerSecUSec', 't', 500_000n],
      ['MemoryMax', 't', 5n],
      ['TasksMax', 't', 1n],
      ['AllowedCPUs', 'ay', Uint8Array.of(3, 2)],
    ]);
    expect(limitProperties(all, 1)).toEqual([
      ['CPUShares', 't', 1024n],
      ['CPUQuotaPeriodUSec', 't', 100_000n],
      ['CPUQuotaPerSecUSec', 't', 500_000n],
      ['MemoryLimit', 't', 5n],
      ['TasksMax', 't', 1n],
    ]);
    expect(limitProperties({ cpu: 'max', memory: 'max' }, 2)).toEqual([
      ['CPUQuotaPerSecUSec', 't', infinity],
      ['MemoryMax', 't', infinity],
    ]);
    expect(limitProperties({}, 2)).toEqual([]);
    expect(limitProperties({ memoryMin: 0n, memoryLow: 7n }, 2)).toEqual([
      ['MemoryMin', 't', 0n],
      ['MemoryLow', 't', 7n],
    ]);
    expect(limitProperties({ memoryMin: 0n, memoryLow: 7n }, 1)).toEqual([]);
  });

  test('rounds a quota up to a percent of a CPU', () => {
    const rounded = (quotaUs: bigint, periodUs: bigint) => roundedLimits({ cpu: { quotaUs, periodUs } }).cpu;
    expect(rounded(50_000n, 100_000n)).toEqual({ quotaUs: 50_000n, periodUs: 100_000n });
    expect(rounded(12_300n, 100_000n)).toEqual({ quotaUs: 13_000n, periodUs: 100_000n });
    expect(rounded(1_000n, 9_000n)).toEqual({ quotaUs: 1_080n, periodUs: 9_000n });
    expect(roundedLimits({ cpu: 'max' })).toEqual({ cpu: 'max' });
  });

  test('wants its parent slice', () => {
    const wanted = (path: string) => sliceProperties(path, 2).find(([name]) => name === 'Wants');
    expect(wanted('/kubepods.slice/kubepods-podu.slice')).toEqual(['Wants', 'as', ['kubepods.slice']]);
    expect(wanted('/kubepods.slice')).toEqual(['Wants', 'as', ['-.slice']]);
  });
});

describe('the files of a cgroup', () => {
  const all = {
    cpuShares: 1024n,
    cpu: { quotaUs: 50_000n, periodUs: 100_000n },
    memory: 5n,
    pids: 7n,
    hugepages: new Map([[2n * MiB, 9n]]),
    cpus: [0, 2, 3, 4],
  };
  const text = (limits: Parameters<typeof cgroupFiles>[0], version: 1 | 2) =>
    cgroupFiles(limits, version).map(({ controller, file, value }) => `${controller}: ${file} = ${value}`);

  test('have the form of cgroup v1', () => {
    expect(text(all, 1)).toEqual([
      'cpu: cpu.shares = 1024',
      'cpu: cpu.cfs_period_us = 100000',
      'cpu: cpu.cfs_quota_us = 50000',
      'memory: memory.limit_in_bytes = 5',
      'pids: pids.max = 7',
      'hugetlb: hugetlb.2MB.limit_in_bytes = 9',
      'hugetlb: hugetlb.2MB.rsvd.limit_in_bytes = 9',
    ]);
    expect(text({ cpuShares: 2n, cpu: 'max', memory: 'max' }, 1)).toEqual([
      'cpu: cpu.shares = 2',
      'cpu: cpu.cfs_quota_us = -1',
      'memory: memory.limit_in_bytes = -1',
    ]);
  });

  test('have the form of cgroup v2', () => {
    expect(text(all, 2)).toEqual([
      'cpu: cpu.weight = 39',
      'cpu: cpu.max = 50000 100000',
      'cpuset: cpuset.cpus = 0,2-4',
      'memory: memory.max = 5',
      'pids: pids.max = 7',
      'hugetlb: hugetlb.2MB.max = 9',
      'hugetlb: hugetlb.2MB.rsvd.max = 9',
    ]);
    expect(text({ cpuShares: 2n, cpu: 'max', memory: 'max' }, 2)).toEqual([
      'cpu: cpu.weight = 1',
      'cpu: cpu.max = max',
      'memory: memory.max = max',
    ]);
  });

  test('protect memory with cgroup v2 alone', () => {
    expect(text({ memoryMin: 0n, memoryLow: 7n }, 2)).toEqual(['memory: memory.min = 0', 'memory: memory.low = 7']);
    expect(text({ memoryMin: 0n, memoryLow: 7n }, 1)).toEqual([]);
  });

  test('are empty without limits', () => {
    for (const version of [1, 2] as const) expect(text({}, version)).toEqual([]);
  });

  test('name processors in ranges', () => {
    expect(cpusOfList('0,2-4\n')).toEqual([0, 2, 3, 4]);
    expect(cpusOfList('')).toEqual([]);
  });

  test('contain weights that are ordered like shares and convert back to shares of the same weight', () => {
    const shares = fc.bigInt({ min: 2n, max: 262_144n });
    fc.assert(
      fc.property(shares, shares, (a, b) => {
        expect(cpuWeight(a) <= cpuWeight(b) || a > b).toBe(true);
        const weight = cpuWeight(a);
        expect(weight >= 1n && weight <= 10_000n).toBe(true);
        const back = cpuSharesOf(weight);
        expect(back <= a && a - back < 28n).toBe(true);
      }),
    );
    expect([milliCpuOf(2n), milliCpuOf(3n), milliCpuOf(1024n)]).toEqual([0n, 3n, 1000n]);
    expect([cpuWeight(2n), cpuWeight(262_144n)]).toEqual([1n, 10_000n]);
  });
});
