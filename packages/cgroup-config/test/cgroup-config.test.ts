import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import {
  cgroupFiles,
  cpuSharesOf,
  cpuWeight,
  nodeLimits,
  podLimits,
  podMemoryLimit,
  podOfCgroup,
  podPath,
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
  ] as const)('with driver %s %j is no pod’s', (driver, name) => {
    expect(podOfCgroup(name, driver)).toBeUndefined();
  });

  test('of a tier is the parent of its pods’', () => {
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
    ['nothing asked for', pod([{}]), { cpuShares: 2n }],
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
      { cpuShares: 204n },
    ],
    [
      'an init container without a memory limit',
      pod([both({ cpu: '1', memory: '64Mi' })], { initContainers: [{ name: 'i', resources: both({ cpu: '2' }) }] }),
      { cpuShares: 2048n, cpu: { quotaUs: 200_000n, periodUs: 100_000n } },
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
      { cpuShares: 204n, memory: 80n * MiB },
    ],
    [
      'the least quota',
      pod([both({ cpu: '1m', memory: '1Mi' })]),
      { cpuShares: 2n, cpu: { quotaUs: 1_000n, periodUs: 100_000n }, memory: MiB },
    ],
  ])('%s', (_, of, expected) => {
    expect(podLimits(of)).toEqual(expected);
  });

  test('follow the node’s settings', () => {
    const of = pod([both({ cpu: '500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' })]);
    expect(podLimits(of, { cpuQuota: false, pids: 10n })).toEqual({ cpuShares: 512n, memory: 64n * MiB, pids: 10n });
    expect(podLimits(of, { cpuPeriodUs: 10_000n }).cpu).toEqual({ quotaUs: 5_000n, periodUs: 10_000n });
    expect(podLimits(of, { hugepageSizes: [2n * MiB, 1024n * MiB] }).hugepages).toEqual(
      new Map([
        [2n * MiB, 4n * MiB],
        [1024n * MiB, 0n],
      ]),
    );
  });

  test('of memory alone', () => {
    expect(podMemoryLimit(pod([both({ memory: '64Mi' })]))).toBe(64n * MiB);
    expect(podMemoryLimit(pod([both({ memory: '64Mi' }), {}]))).toBeUndefined();
  });
});

test('the tiers have what is theirs', () => {
  expect(nodeLimits({ milliCpu: 2000n, memory: MiB })).toEqual({ cpuShares: 2048n, memory: MiB });
  expect(tierLimits('besteffort', [2n, 2n])).toEqual({ cpuShares: 2n });
  expect(tierLimits('burstable', [])).toEqual({ cpuShares: 2n });
  expect(tierLimits('burstable', [100n, 512n])).toEqual({ cpuShares: 612n });
  expect(tierLimits('burstable', [200_000n, 200_000n])).toEqual({ cpuShares: 262_144n });
});

describe('the files of a cgroup', () => {
  const all = {
    cpuShares: 1024n,
    cpu: { quotaUs: 50_000n, periodUs: 100_000n },
    memory: 5n,
    pids: 7n,
    hugepages: new Map([[2n * MiB, 9n]]),
  };
  const text = (limits: typeof all | { cpuShares: bigint }, version: 1 | 2) =>
    cgroupFiles(limits, version).map(({ controller, file, value }) => `${controller}: ${file} = ${value}`);

  test('of version 1', () => {
    expect(text(all, 1)).toEqual([
      'cpu: cpu.shares = 1024',
      'cpu: cpu.cfs_period_us = 100000',
      'cpu: cpu.cfs_quota_us = 50000',
      'memory: memory.limit_in_bytes = 5',
      'pids: pids.max = 7',
      'hugetlb: hugetlb.2MB.limit_in_bytes = 9',
    ]);
    expect(text({ cpuShares: 2n }, 1)).toEqual([
      'cpu: cpu.shares = 2',
      'cpu: cpu.cfs_quota_us = -1',
      'memory: memory.limit_in_bytes = -1',
    ]);
  });

  test('of version 2', () => {
    expect(text(all, 2)).toEqual([
      'cpu: cpu.weight = 39',
      'cpu: cpu.max = 50000 100000',
      'memory: memory.max = 5',
      'pids: pids.max = 7',
      'hugetlb: hugetlb.2MB.max = 9',
    ]);
    expect(text({ cpuShares: 2n }, 2)).toEqual([
      'cpu: cpu.weight = 1',
      'cpu: cpu.max = max',
      'memory: memory.max = max',
    ]);
  });

  test('a weight keeps the order of the shares, and reads back as shares of the same weight', () => {
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
    expect([cpuWeight(2n), cpuWeight(262_144n)]).toEqual([1n, 10_000n]);
  });
});
