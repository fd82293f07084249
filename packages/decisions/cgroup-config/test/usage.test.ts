import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type UsageDetail, cgroupOfContainer, pressuresOf, usageV1, usageV2 } from '../src/index.ts';
import { reused } from '../src/reused.ts';

type Files = Readonly<Record<string, string | undefined>>;

const reader = (files: Files) => ({ read: (_controller: string, file: string) => files[file] });

const pressure =
  'some avg10=12.50 avg60=3.00 avg300=0.25 total=123456\nfull avg10=1.00 avg60=0.50 avg300=0.00 total=999\n';
const somePressure = { avg10: 12.5, avg60: 3, avg300: 0.25, total: 123_456 };

const v1: Files = {
  'cpuacct.usage': '23904738\n',
  'cpuacct.stat': 'user 12\nsystem 3\n',
  'cpu.shares': '51\n',
  'cpu.cfs_quota_us': '20000\n',
  'cpu.cfs_period_us': '100000\n',
  'cpu.stat': 'nr_periods 40\nnr_throttled 4\nthrottled_time 5000000\n',
  'memory.usage_in_bytes': '655360\n',
  'memory.max_usage_in_bytes': '700000\n',
  'memory.failcnt': '7\n',
  'memory.limit_in_bytes': '67108864\n',
  'memory.soft_limit_in_bytes': '9223372036854771712\n',
  'memory.memsw.limit_in_bytes': '67108864\n',
  'memory.kmem.usage_in_bytes': '4096\n',
  'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
  'memory.stat': [
    'cache 1\nrss 2\nmapped_file 3\npgfault 11\npgmajfault 1\nswap 5\ninactive_file 6\nactive_file 7',
    'hierarchical_memory_limit 67108864\ntotal_cache 100\ntotal_rss 53248\ntotal_mapped_file 300',
    'total_pgfault 1567\ntotal_pgmajfault 9\ntotal_swap 8192\ntotal_inactive_file 5360\ntotal_active_file 700\n',
  ].join('\n'),
  'blkio.throttle.io_service_bytes_recursive':
    '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 12288\n8:0 Async 0\n8:0 Discard 0\n8:0 Total 12288\n253:1 Read 1\n253:1 Write 2\nTotal 12291\n',
  'blkio.throttle.io_serviced_recursive': '8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n',
  'pids.current': '3\n',
  'pids.max': 'max\n',
  'cpu.pressure': pressure,
  'memory.pressure': pressure,
  'io.pressure': pressure,
};

const v2: Files = {
  'cpu.stat':
    'usage_usec 23904\nuser_usec 120000\nsystem_usec 30000\nnr_periods 40\nnr_throttled 4\nthrottled_usec 5000\n',
  'cpu.max': '20000 100000\n',
  'cpu.weight': '39\n',
  'memory.current': '655360\n',
  'memory.max': '67108864\n',
  'memory.low': '0\n',
  'memory.peak': '700000\n',
  'memory.events': 'low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n',
  'memory.stat':
    'anon 53248\nfile 100\nkernel 4096\nfile_mapped 300\ninactive_file 5360\nactive_file 700\npgfault 1567\npgmajfault 9\n',
  'memory.swap.current': '8192\n',
  'memory.swap.max': '0\n',
  'io.stat': '8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n',
  'pids.current': '3\n',
  'pids.max': '100\n',
  'cpu.pressure': pressure,
};

const memory = {
  usageBytes: 655_360,
  workingSetBytes: 650_000,
  rssBytes: 53_248,
  cacheBytes: 100,
  mappedBytes: 300,
  activeFileBytes: 700,
  inactiveFileBytes: 5360,
  faults: { all: 1567, major: 9 },
  limitBytes: 67_108_864,
};
const details = {
  userNs: 120_000_000,
  systemNs: 30_000_000,
  throttling: { periods: 40, throttled: 4, throttledNs: 5_000_000, bursts: 0, burstNs: 0 },
  kernelBytes: 4096,
  peakBytes: 700_000,
  limitHits: 7,
  oomKills: 2,
  threads: 3,
  cpuPeriodUs: 100_000,
  cpuQuotaUs: 20_000,
};

const machine = { usageBytes: 10_000, limitBytes: 20_000, swapBytes: 5, swapLimitBytes: 50 };

describe('a cgroup of v1', () => {
  test('is read with all cgroups below it', () => {
    expect(usageV1(reader(v1), 'usage')).toEqual({
      cpuNs: 23_904_738,
      memory: { ...memory, ownFaults: { all: 11, major: 1 } },
      swap: { bytes: 8192, limitBytes: 0 },
    });
  });

  test('has all details', () => {
    const { pressures, more } = usageV1(reader(v1), 'all') ?? {};
    expect(pressures?.io?.some).toEqual(somePressure);
    expect(more).toEqual({
      ...details,
      disks: [
        { device: '8:0', reads: 1, writes: 2, readBytes: 4096, writtenBytes: 8192 },
        { device: '253:1', reads: 0, writes: 0, readBytes: 1, writtenBytes: 2 },
      ],
      threadsLimit: undefined,
      cpuShares: 51,
      reservationBytes: undefined,
    });
  });

  test.each([
    ['memory.limit_in_bytes', '9223372036854771712\n', { memory: { limitBytes: undefined } }],
    ['memory.memsw.limit_in_bytes', undefined, { swap: undefined }],
    ['memory.memsw.limit_in_bytes', '9223372036854771712\n', { swap: { limitBytes: undefined } }],
    ['memory.memsw.limit_in_bytes', '67112960\n', { swap: { limitBytes: 4096 } }],
    ['cpu.cfs_quota_us', '-1\n', { more: { throttling: undefined, cpuQuotaUs: undefined } }],
    ['memory.usage_in_bytes', '1000\n', { memory: { workingSetBytes: 0 } }],
    ['cpu.pressure', undefined, { pressures: { memory: { some: somePressure } } }],
    ['blkio.throttle.io_service_bytes_recursive', 'Total 0\n', { more: { disks: [] } }],
  ])('whose %s is %j is read', (file, text, expected) => {
    expect(usageV1(reader({ ...v1, [file]: text }), 'all')).toMatchObject(expected);
  });

  test.each(['cpuacct.usage', 'memory.usage_in_bytes', 'memory.stat'])('without %s does not exist', (file) => {
    expect(usageV1(reader({ ...v1, [file]: undefined }), 'usage')).toBeUndefined();
  });
});

describe('a cgroup of v2', () => {
  test('is read', () => {
    expect(usageV2(reader(v2), 'pressure')).toEqual({
      cpuNs: 23_904_000,
      memory,
      swap: { bytes: 8192, limitBytes: 0 },
      pressures: { cpu: { some: somePressure, full: { avg10: 1, avg60: 0.5, avg300: 0, total: 999 } } },
    });
  });

  test('has all details', () => {
    expect(usageV2(reader(v2), 'all')?.more).toEqual({
      ...details,
      disks: [{ device: '8:0', reads: 1, writes: 2, readBytes: 4096, writtenBytes: 8192 }],
      threadsLimit: 100,
      cpuShares: 998,
      reservationBytes: 0,
    });
  });

  test('without limits is read', () => {
    const files = { ...v2, 'memory.max': 'max\n', 'memory.swap.max': 'max\n', 'cpu.max': 'max 100000\n' };
    expect(usageV2(reader(files), 'all')).toMatchObject({
      memory: { limitBytes: undefined },
      swap: { limitBytes: undefined },
      more: { cpuQuotaUs: undefined, cpuPeriodUs: 100_000, throttling: undefined },
    });
  });

  test('at the root has the usage of the machine', () => {
    const files = { ...v2, 'memory.current': undefined, 'memory.swap.current': undefined, 'memory.max': undefined };
    expect(usageV2(reader(files), 'usage')).toBeUndefined();
    expect(usageV2(reader(files), 'usage', machine)).toMatchObject({
      memory: { usageBytes: 10_000, workingSetBytes: 4640 },
      swap: { bytes: 5, limitBytes: 50 },
    });
  });
});

test.each([
  ['v1', v1, usageV1],
  ['v2', v2, usageV2],
] as const)('the root cgroup of %s, also that of a namespace, has the limits of the machine', (_, files, read) => {
  expect(read(reader(files), 'usage', machine)).toMatchObject({
    memory: { limitBytes: 20_000 },
    swap: { limitBytes: 50 },
  });
});

describe.each([
  ['v1', v1, usageV1],
  ['v2', v2, usageV2],
])('a cgroup of %s that is read again', (version, files, usageOf) => {
  const calm = 'some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n';
  const all: Files = { ...files, 'cpu.pressure': calm, 'memory.pressure': calm, 'io.pressure': calm };
  const before = usageOf(reader(all), 'all');
  /** What is read, and the files that are read for it. */
  const again = (changed: Files, detail: UsageDetail = 'all') => {
    const asked = new Set<string>();
    const read = (_controller: string, file: string) => {
      asked.add(file);
      return { ...all, ...changed }[file];
    };
    return { usage: usageOf({ read, setting: (_controller, file) => all[file], before }, detail), asked };
  };

  test('is the same object when nothing has changed', () => {
    expect(again({}).usage).toBe(before);
    expect(again({}, 'usage').usage).toBe(before);
  });

  test('reads only what changes without its processes when none of them has run', () => {
    const changed = {
      'memory.stat': files['memory.stat']?.replaceAll('inactive_file 5360', 'inactive_file 60'),
      'io.pressure': pressure,
    };
    const { usage, asked } = again(changed);
    expect(usage).toEqual(usageOf(reader({ ...all, ...changed }), 'all'));
    expect(usage).not.toEqual(before);
    for (const file of [
      'pids.current',
      'memory.pressure',
      'cpu.pressure',
      'cpuacct.stat',
      'memory.failcnt',
      'memory.peak',
    ]) {
      expect(asked).not.toContain(file);
    }
  });

  test('reads everything when one of its processes has run', () => {
    const ran = {
      'cpuacct.usage': '23904739\n',
      'cpu.stat': files['cpu.stat']?.replace('usage_usec 23904', 'usage_usec 23905'),
    };
    const changed = { ...ran, 'pids.current': '4\n', 'cpu.pressure': pressure };
    expect(again(changed).usage).toEqual(usageOf(reader({ ...all, ...changed }), 'all'));
    expect(again(changed).usage?.more?.threads).toBe(4);
    // Unchanged parts are kept all the same.
    expect(again(changed).usage?.memory).toBe(before?.memory);
    expect(again(changed, 'usage').usage).toEqual({
      cpuNs: version === 'v1' ? 23_904_739 : 23_905_000,
      memory: before?.memory,
      swap: before?.swap,
    });
  });

  test('reads a pressure again while its averages are above zero', () => {
    const pressed = usageOf(reader({ ...all, 'cpu.pressure': pressure }), 'all');
    const usage = usageOf({ ...reader(all), before: pressed }, 'pressure');
    expect(pressed?.pressures?.cpu?.some).toEqual(somePressure);
    expect(usage?.pressures).toEqual(before?.pressures);
  });
});

test('an equal value of the previous reading is used again', () => {
  const value = fc.jsonValue().filter((one) => typeof one === 'object' && one !== null);
  fc.assert(
    fc.property(value, value, (one, other) => {
      const copy = structuredClone(one) as object;
      expect(reused(copy, one as object)).toBe(copy);
      const isEqual = JSON.stringify(one) === JSON.stringify(other);
      if (!isEqual) expect(reused(one as object, other as object)).toEqual(other);
    }),
  );
  expect(reused(undefined, { a: 1 })).toEqual({ a: 1 });
  const now: { a: number; b?: number } = { a: 1 };
  expect(reused({ a: 1, b: 2 }, now)).toBe(now);
});

test('any text is read without an error', () => {
  const words = fc.constantFrom('max', '8:0', 'Read', 'total_rss', 'total_rss ', '12', '-1', '\n', ' ', '=', 'some');
  const text = fc.option(
    fc.array(words).map((parts) => parts.join('')),
    { nil: undefined },
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(v1), ...Object.keys(v2)), text), (files) => {
      usageV1(reader({ ...v1, ...files }), 'all');
      usageV2(reader({ ...v2, ...files }), 'all');
    }),
  );
});

test('the machine’s CPUs have no full pressure on older kernels', () => {
  const text = 'some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n';
  const none = { avg10: 0, avg60: 0, avg300: 0 };
  const cpu = { some: { ...none, total: 1 }, full: { ...none, total: 0 } };
  expect(pressuresOf((file) => (file === 'cpu.pressure' ? text : undefined))).toEqual({ cpu });
});

test.each([
  [['b', 'a'], 'a', 'a'],
  [['cri-containerd-a.scope', 'cri-containerd-b.scope'], 'b', 'cri-containerd-b.scope'],
  [['crio-conmon-a.scope', 'crio-a.scope'], 'a', 'crio-a.scope'],
  [['crio-a'], 'a', 'crio-a'],
  [['aa', 'ba'], 'a', undefined],
])('among the cgroups %j, that of the container %s is %s', (names, id, expected) => {
  expect(cgroupOfContainer(names, id)).toBe(expected);
});
