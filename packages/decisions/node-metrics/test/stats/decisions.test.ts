import { describe, expect, test } from '@jest/globals';
import type { RuntimePod } from '@kubus/contracts';
import * as fc from 'fast-check';
import {
  bootedAt,
  diskLines,
  interfaceReadings,
  machineMemory,
  nanoCores,
  openFilesLimit,
  processors,
  shownPods,
  threadCount,
} from '../../src/index.ts';

describe('a CPU rate', () => {
  const at = (atMs: number, cpuNs: number) => ({ atMs, usage: { cpuNs } });
  test.each([
    [at(0, 0), at(2000, 1_000_000_000), 500_000_000],
    [at(0, 7), at(1000, 7), 0],
    [at(0, 0), at(999, 1), undefined],
    [at(0, 0), at(300_001, 1), undefined],
    [at(0, 8), at(2000, 7), undefined],
    [undefined, at(2000, 7), undefined],
  ])('between %j and %j is %s', (before, now, expected) => {
    expect(nanoCores(before, now)).toBe(expected);
  });

  test('adds up to the total usage, whatever the times of the readings', () => {
    const [time, cpuNs] = [fc.integer({ min: 1000, max: 300_000 }), fc.nat()];
    fc.assert(
      fc.property(time, cpuNs, (ms, ns) => {
        const rate = nanoCores(at(0, 0), at(ms, ns)) ?? NaN;
        expect(Math.abs((rate * ms) / 1000 - ns)).toBeLessThanOrEqual(ms / 1000);
      }),
    );
  });
});

describe('the shown pods', () => {
  const make = (
    uid: string,
    name: string,
    sandboxes: [id: string, ready: boolean, createdAt: string][],
  ): RuntimePod => ({
    ref: { namespace: 'default', name, uid },
    stamp: { epoch: 1, counter: 1 },
    sandboxes: sandboxes.map(([id, ready, createdAt]) => ({
      ...{ id, ready, createdAt, attempt: 0, ips: [], runtimeHandler: '' },
    })),
    containers: (['running', 'exited', 'created'] as const).map((state) => ({
      ...{ id: `${uid}-${state}`, name: state, attempt: 0, sandboxId: 's', state, createdAt: '1', startedAt: '1' },
      ...{ finishedAt: '0', exitCode: 0, reason: '', message: '', image: '', imageRef: '', imageId: '', logPath: '' },
      annotations: {},
    })),
  });
  const shown = (...pods: RuntimePod[]) =>
    shownPods(pods).map(({ pod, sandbox, containers }) => [
      pod.ref.uid,
      sandbox.id,
      containers.map(({ name }) => name),
    ]);

  test('have only running containers', () => {
    expect(shown(make('a', 'one', [['s1', true, '1']]))).toEqual([['a', 's1', ['running']]]);
  });

  test('have the newest ready sandbox, or else the newest one', () => {
    const old = make('a', 'one', [
      ['s3', false, '3'],
      ['s2', true, '2'],
      ['s1', false, '1'],
    ]);
    expect(shown(old)).toEqual([['a', 's2', ['running']]]);
    expect(
      shown(
        make('a', 'one', [
          ['s3', false, '3'],
          ['s2', false, '2'],
        ]),
      ),
    ).toEqual([['a', 's3', ['running']]]);
    expect(shown(make('a', 'one', []))).toEqual([]);
  });

  test('with the same name are all ready ones, or else the newest one', () => {
    const [dead, older, alive] = [
      make('dead', 'one', [['s1', false, '10']]),
      make('older', 'one', [['s2', false, '9']]),
      make('alive', 'one', [['s3', true, '8']]),
    ];
    expect(shown(dead, older, alive).map(([uid]) => uid)).toEqual(['alive']);
    expect(shown(dead, older).map(([uid]) => uid)).toEqual(['dead']);
    expect(shown(older, dead).map(([uid]) => uid)).toEqual(['dead']);
  });
});

describe('the kernel’s files', () => {
  test('are parsed for interfaces', () => {
    const text = [
      'Inter-|   Receive                                                |  Transmit',
      ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed',
      '    lo: 18204002610 6808376    0    0    0     0          0         0 18204002610 6808376    0    0    0     0       0          0',
      '  eth0:6391552805  239757    1    2    0     0          0         0 30099248  206654    3    4    0     0       0          0',
      'veth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0',
      '',
    ].join('\n');
    expect(interfaceReadings(text)).toEqual([
      {
        name: 'eth0',
        received: { bytes: 6_391_552_805, packets: 239_757, errors: 1, dropped: 2 },
        sent: { bytes: 30_099_248, packets: 206_654, errors: 3, dropped: 4 },
      },
    ]);
  });

  test('are parsed for memory, boot time, threads and limits', () => {
    const memory = 'MemTotal:       1000 kB\nMemFree:         400 kB\nSwapTotal:       10 kB\nSwapFree:         4 kB\n';
    expect(machineMemory(memory)).toEqual({
      ...{ totalBytes: 1_024_000, usedBytes: 614_400, swapBytes: 10_240, swapUsedBytes: 6144 },
    });
    expect(bootedAt('cpu 1 2\nbtime 1763631216\nprocesses 1\n')).toBe(1_763_631_216_000);
    expect(threadCount('32.43 49.86 28.01 8/172 26218\n')).toBe(172);
    expect(threadCount('')).toBeUndefined();
    expect(openFilesLimit('Limit  Soft Limit\nMax open files            1024                 4096      files\n')).toBe(
      1024,
    );
    expect(openFilesLimit('Max open files            unlimited            unlimited            files\n')).toBe(-1);
    expect(openFilesLimit('')).toBeUndefined();
  });

  test.each([
    [
      'one core of two threads',
      [
        [0, 0],
        [0, 0],
      ],
      { cores: 1, sockets: 1 },
    ],
    [
      'two sockets of two cores',
      [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ],
      { cores: 4, sockets: 2 },
    ],
  ] as const)('are parsed for %s', (_what, ids, expected) => {
    const blocks = ids.map(
      ([socket, core], index) => `processor\t: ${index}\nphysical id\t: ${socket}\ncore id\t\t: ${core}`,
    );
    expect(processors(`${blocks.join('\n\n')}\n\n`)).toEqual(expected);
  });

  test('are parsed for processors without cores', () => {
    expect(processors('processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\n\nHardware\t: x\n')).toEqual({
      cores: 2,
      sockets: 1,
    });
  });

  test('are parsed for disks', () => {
    const text = '   8       0 sda 11 12 13 14 21 22 23 24 1 34 35 0 0 0 0 5 6\n';
    expect(diskLines(text)).toEqual([
      {
        ...{ number: '8:0', device: '/dev/sda' },
        counts: {
          ...{ reads: 11, readsMerged: 12, sectorsRead: 13, readMs: 14, writes: 21, writesMerged: 22 },
          ...{ sectorsWritten: 23, writeMs: 24, current: 1, busyMs: 34, weightedMs: 35 },
        },
      },
    ]);
  });
});
