import type { CgroupUsage } from '@kubus/cgroup-config';
import type { MetricFamily, MetricSample } from '@kubus/metrics';
import type { CgroupReading, ContainerReading, FileSystemReading, NodeReading, PodReading } from '../../src/index.ts';

/** The samples of a family, each with all its labels. */
export function samplesIn(family: MetricFamily | undefined): MetricSample[] {
  const samples = family !== undefined && 'samples' in family ? family.samples : [];
  return samples.map(({ labels, further, ...sample }) => ({ ...sample, labels: { ...labels, ...further } }));
}

export const AT = Date.parse('2026-11-20T10:56:14.400Z');
const part = { avg10: 1, avg60: 2, avg300: 3, total: 4_000_000 };
const pressure = { some: part, full: { ...part, total: 1_000_000 } };

/** The usage of a cgroup; `limitBytes` applies to memory and swap. */
export function usage(limitBytes?: number): CgroupUsage {
  return {
    cpuNs: 23_904_738,
    memory: {
      ...{ usageBytes: 655_360, workingSetBytes: 650_000, rssBytes: 53_248, cacheBytes: 100, mappedBytes: 300 },
      ...{ activeFileBytes: 700, inactiveFileBytes: 5360, faults: { all: 1567, major: 9 } },
      ...{ ownFaults: { all: 11, major: 1 }, limitBytes },
    },
    swap: { bytes: 8192, limitBytes: limitBytes === undefined ? undefined : 0 },
    pressures: { cpu: pressure, memory: pressure, io: pressure },
    more: {
      ...{
        userNs: 120_000_000,
        systemNs: 30_000_000,
        kernelBytes: 4096,
        peakBytes: 700_000,
        limitHits: 7,
        oomKills: 2,
      },
      throttling: { periods: 40, throttled: 4, throttledNs: 5_000_000, bursts: 0, burstNs: 0 },
      disks: [{ device: '8:0', reads: 1, writes: 2, readBytes: 4096, writtenBytes: 8192 }],
      ...{ threads: 3, threadsLimit: 100, cpuShares: 51, cpuPeriodUs: 100_000, cpuQuotaUs: 20_000 },
      reservationBytes: undefined,
    },
  };
}

export function cgroup(path: string, limitBytes?: number): CgroupReading {
  return {
    ...{ path, atMs: AT, startedAtMs: AT - 60_000, usage: usage(limitBytes), nanoCores: 276_143 },
    ...{ processes: 1, openFiles: 5, openSockets: 2, openFilesLimit: 1024 },
  };
}

function fileSystem(usedBytes: number, inodesUsed: number): FileSystemReading {
  return {
    ...{ atMs: AT, capacityBytes: 1000, availableBytes: 700, usedBytes },
    ...{ inodes: 100, inodesFree: 90, inodesUsed },
  };
}

const counts = { bytes: 1000, packets: 10, errors: 1, dropped: 2 };
const interfaceNamed = (name: string) => ({ name, received: counts, sent: { ...counts, bytes: 2000 } });

export function container(name: string, limitBytes?: number): ContainerReading {
  return {
    ...{ name, id: `id-${name}`, image: 'registry/busybox:1', logPath: '', startedAtMs: AT - 50_000 },
    cgroup: cgroup(`/kubepods/podu/id-${name}`, limitBytes),
    ...{ rootfs: fileSystem(20_480, 8), logs: fileSystem(512, 2) },
  };
}

export const pod: PodReading = {
  ref: { name: 'web', namespace: 'default', uid: 'u' },
  startedAtMs: AT - 55_000,
  cgroup: cgroup('/kubepods/podu'),
  sandbox: { id: 'id-pause', cgroup: cgroup('/kubepods/podu/id-pause') },
  processes: 3,
  network: { atMs: AT, interfaces: [interfaceNamed('eth0')] },
  containers: [container('d'), container('c', 67_108_864)],
  volumes: [
    { ...fileSystem(4096, 3), name: 'e', isLocal: true },
    { ...fileSystem(9999, 50), name: 'data', claim: { namespace: 'default', name: 'disk' }, isLocal: false },
  ],
};

const times = { readMs: 1500, writeMs: 2500, busyMs: 3500, weightedMs: 4500, current: 1 };
const operations = { reads: 11, readsMerged: 12, sectorsRead: 13, writes: 21, writesMerged: 22, sectorsWritten: 23 };

export const node: NodeReading = {
  ...{ name: 'node0', atMs: AT },
  machine: {
    ...{ bootedAtMs: Date.parse('2026-11-20T09:33:36Z'), memoryBytes: 16 * 2 ** 30, swapBytes: 8192 },
    ...{ cpus: 4, cores: 2, sockets: 1, machineId: 'machine', systemUuid: 'uuid', bootId: 'boot' },
    ...{ kernel: '6.1', os: 'Debian GNU/Linux 12 (bookworm)', disks: new Map([['8:0', '/dev/sda']]) },
  },
  root: cgroup('/', 16 * 2 ** 30),
  tiers: [cgroup('/kubepods', 8 * 2 ** 30), cgroup('/kubepods/burstable'), cgroup('/kubepods/besteffort')],
  network: { atMs: AT, interfaces: [interfaceNamed('ifb0'), interfaceNamed('eth0')] },
  ...{ fs: fileSystem(300, 10), imageFs: fileSystem(200, 5), containerFs: fileSystem(100, 4) },
  processes: { atMs: AT, most: 32_768, now: 180 },
  devices: [
    { device: '/dev/sda1', fs: fileSystem(300, 10), counts: { ...times, ...operations } },
    { device: 'tmpfs', fs: fileSystem(1, 1), counts: undefined },
  ],
  pods: [pod],
};
