import type { DiskUsage, Pressure, PressureOf } from '@kubus/cgroup-config';
import type { Labels, TakeSample } from '@kubus/metrics';
import type { CgroupReading, DeviceReading, DiskCounts, InterfaceReading, PacketCounts } from './reading.ts';
import type { Row } from './cadvisor-rows.ts';
import type { RowLabels } from './row-labels.ts';

/** What is published for each cgroup. */
export interface RowFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** One value; undefined where the cgroup has none. */
  readonly value?: (reading: CgroupReading) => number | undefined;
  /** Values with further labels. */
  readonly values?: (row: Row, context: RowContext, take: TakeSample) => void;
  /** Constant values have no time. */
  readonly isTimeless?: boolean;
}

export interface RowContext {
  /** Names of disks by `major:minor`. */
  readonly disks: ReadonlyMap<string, string>;
  readonly devices: readonly DeviceReading[];
  readonly known: RowLabels;
}

const [NS, US] = [1e9, 1e6];
/** Bytes of a sector in the kernel's counts, independent of the disk's sector size. */
const SECTOR = 512;

const allCpus: Labels = { cpu: 'total' };
const openFiles: Labels = { ulimit: 'max_open_files' };
const taskStates: readonly Labels[] = ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'].map(
  (state) => ({ state }),
);
const failures: Readonly<Record<'own' | 'all' | 'ownMajor' | 'allMajor', Labels>> = {
  own: { failure_type: 'pgfault', scope: 'container' },
  all: { failure_type: 'pgfault', scope: 'hierarchy' },
  ownMajor: { failure_type: 'pgmajfault', scope: 'container' },
  allMajor: { failure_type: 'pgmajfault', scope: 'hierarchy' },
};

export const rowFamilies: readonly RowFamily[] = [
  counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', ({ usage }) =>
    scaled(usage.more?.systemNs, NS),
  ),
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'Cumulative cpu time consumed in seconds.',
    type: 'counter',
    values: ({ labels, reading }, _context, take) => take(reading.usage.cpuNs / NS, labels, reading.atMs, allCpus),
  },
  counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', ({ usage }) =>
    scaled(usage.more?.userNs, NS),
  ),
  counter(
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    ({ usage }) => usage.more?.throttling?.periods,
  ),
  counter(
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    ({ usage }) => usage.more?.throttling?.throttled,
  ),
  counter(
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    ({ usage }) => scaled(usage.more?.throttling?.throttledNs, NS),
  ),
  counter(
    'container_cpu_cfs_burst_periods_total',
    'Number of periods when burst occurs.',
    ({ usage }) => usage.more?.throttling?.bursts,
  ),
  counter('container_cpu_cfs_burst_seconds_total', 'Total time duration the container has been bursted.', ({ usage }) =>
    scaled(usage.more?.throttling?.burstNs, NS),
  ),
  gauge('container_cpu_load_average_10s', 'Value of container cpu load average over the last 10 seconds.', notMeasured),
  gauge(
    'container_cpu_load_d_average_10s',
    'Value of container cpu load.d average over the last 10 seconds.',
    notMeasured,
  ),
  {
    name: 'container_tasks_state',
    help: 'Number of tasks in given state',
    type: 'gauge',
    values: ({ labels, reading }, _context, take) => {
      for (const state of taskStates) take(notMeasured(), labels, reading.atMs, state);
    },
  },
  {
    name: 'container_blkio_device_usage_total',
    help: 'Blkio Device bytes usage',
    type: 'counter',
    values: ({ labels, reading }, { disks, known }, take) => {
      for (const { device, readBytes, writtenBytes } of reading.usage.more?.disks ?? []) {
        const name = disks.get(device) ?? '';
        take(readBytes, labels, reading.atMs, known.blockDevice(device, name, 'Read'));
        take(writtenBytes, labels, reading.atMs, known.blockDevice(device, name, 'Write'));
      }
    },
  },
  gauge('container_health_state', "The result of the container's health check", notMeasured),
  gauge('container_file_descriptors', 'Number of open file descriptors for the container.', (one) => one.openFiles),
  ...diskFamilies(),
  gauge('container_last_seen', 'Last time a container was seen by the exporter', ({ atMs }) => Math.trunc(atMs / 1000)),
  gauge('container_memory_cache', 'Number of bytes of page cache memory.', ({ usage }) => usage.memory.cacheBytes),
  counter('container_memory_failcnt', 'Number of memory usage hits limits', ({ usage }) => usage.more?.limitHits),
  {
    name: 'container_memory_failures_total',
    help: 'Cumulative count of memory allocation failures.',
    type: 'counter',
    values: ({ labels, reading: { atMs, usage } }, _context, take) => {
      const { faults, ownFaults = faults } = usage.memory;
      take(ownFaults.all, labels, atMs, failures.own);
      take(faults.all, labels, atMs, failures.all);
      take(ownFaults.major, labels, atMs, failures.ownMajor);
      take(faults.major, labels, atMs, failures.allMajor);
    },
  },
  gauge(
    'container_memory_kernel_usage',
    'Size of kernel memory allocated in bytes.',
    (one) => one.usage.more?.kernelBytes,
  ),
  gauge('container_memory_mapped_file', 'Size of memory mapped files in bytes.', (one) => one.usage.memory.mappedBytes),
  gauge(
    'container_memory_max_usage_bytes',
    'Maximum memory usage recorded in bytes',
    (one) => one.usage.more?.peakBytes,
  ),
  gauge('container_memory_rss', 'Size of RSS in bytes.', ({ usage }) => usage.memory.rssBytes),
  gauge('container_memory_swap', 'Container swap usage in bytes.', ({ usage }) => usage.swap?.bytes),
  gauge(
    'container_memory_total_active_file_bytes',
    'Current total active file in bytes.',
    ({ usage }) => usage.memory.activeFileBytes,
  ),
  gauge(
    'container_memory_total_inactive_file_bytes',
    'Current total inactive file in bytes.',
    ({ usage }) => usage.memory.inactiveFileBytes,
  ),
  gauge(
    'container_memory_usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    ({ usage }) => usage.memory.usageBytes,
  ),
  gauge(
    'container_memory_working_set_bytes',
    'Current working set in bytes.',
    ({ usage }) => usage.memory.workingSetBytes,
  ),
  ...networkFamilies(),
  counter(
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    (one) => one.usage.more?.oomKills,
  ),
  ...pressureFamilies(),
  gauge('container_processes', 'Number of processes running inside the container.', ({ processes }) => processes),
  gauge('container_sockets', 'Number of open sockets for the container.', ({ openSockets }) => openSockets),
  timeless('container_spec_cpu_period', 'CPU period of the container.', ({ usage }) => usage.more?.cpuPeriodUs),
  timeless('container_spec_cpu_quota', 'CPU quota of the container.', ({ usage }) => usage.more?.cpuQuotaUs),
  timeless('container_spec_cpu_shares', 'CPU share of the container.', ({ usage }) => usage.more?.cpuShares),
  timeless(
    'container_spec_memory_limit_bytes',
    'Memory limit for the container.',
    (one) => one.usage.memory.limitBytes ?? 0,
  ),
  timeless(
    'container_spec_memory_reservation_limit_bytes',
    'Memory reservation limit for the container.',
    ({ usage }) => usage.more?.reservationBytes ?? 0,
  ),
  timeless(
    'container_spec_memory_swap_limit_bytes',
    'Memory swap limit for the container.',
    ({ usage }) => usage.swap?.limitBytes ?? 0,
  ),
  timeless('container_start_time_seconds', 'Start time of the container since unix epoch in seconds.', (one) =>
    Math.trunc(one.startedAtMs / 1000),
  ),
  gauge('container_threads', 'Number of threads running inside the container', ({ usage }) => usage.more?.threads),
  gauge(
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    ({ usage }) => usage.more?.threadsLimit ?? 0,
  ),
  {
    name: 'container_ulimits_soft',
    help: 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    type: 'gauge',
    values: ({ labels, reading: { atMs, openFilesLimit } }, _context, take) => {
      if (openFilesLimit !== undefined) take(openFilesLimit, labels, atMs, openFiles);
    },
  },
];

/** For a family that is exported without being measured, as in the reference. */
function notMeasured(): number {
  return 0;
}

function counter(name: string, help: string, value: NonNullable<RowFamily['value']>): RowFamily {
  return { name, help, type: 'counter', value };
}

function gauge(name: string, help: string, value: NonNullable<RowFamily['value']>): RowFamily {
  return { name, help, type: 'gauge', value };
}

function timeless(name: string, help: string, value: NonNullable<RowFamily['value']>): RowFamily {
  return { name, help, type: 'gauge', value, isTimeless: true };
}

function scaled(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value / by;
}

/** Those of the node are the values of its disks, even where they are not counted for each cgroup. */
function diskFamilies(): RowFamily[] {
  const families: readonly (readonly [string, string, keyof DiskUsage, (counts: DiskCounts) => number])[] = [
    ['reads_bytes', 'bytes read', 'readBytes', ({ sectorsRead }) => sectorsRead * SECTOR],
    ['reads', 'reads completed', 'reads', ({ reads }) => reads],
    ['writes_bytes', 'bytes written', 'writtenBytes', ({ sectorsWritten }) => sectorsWritten * SECTOR],
    ['writes', 'writes completed', 'writes', ({ writes }) => writes],
  ];
  return families.map(([name, what, field, ofDisk]) => ({
    name: `container_fs_${name}_total`,
    help: `Cumulative count of ${what}`,
    type: 'counter',
    values: ({ labels, reading }, { disks, devices, known }, take) => {
      if (reading.path === '/') {
        for (const { device, counts } of devices) {
          if (counts !== undefined) take(ofDisk(counts), labels, reading.atMs, known.single('device', device));
        }
        return;
      }
      for (const disk of reading.usage.more?.disks ?? []) {
        const device = disks.get(disk.device) ?? disk.device;
        take(Number(disk[field]), labels, reading.atMs, known.single('device', device));
      }
    },
  }));
}

function networkFamilies(): RowFamily[] {
  const directions: readonly (readonly [string, string, (one: InterfaceReading) => PacketCounts])[] = [
    ['receive', 'received', (one) => one.received],
    ['transmit', 'transmitted', (one) => one.sent],
  ];
  return directions.flatMap(([verb, done, counts]) =>
    (
      [
        ['bytes', `Cumulative count of bytes ${done}`, 'bytes'],
        [
          'errors',
          `Cumulative count of errors encountered while ${verb === 'receive' ? 'receiving' : 'transmitting'}`,
          'errors',
        ],
        [
          'packets_dropped',
          `Cumulative count of packets dropped while ${verb === 'receive' ? 'receiving' : 'transmitting'}`,
          'dropped',
        ],
        ['packets', `Cumulative count of packets ${done}`, 'packets'],
      ] as const
    ).map(([name, help, field]) => ({
      name: `container_network_${verb}_${name}_total`,
      help,
      type: 'counter',
      values: ({ labels, reading, network }, { known }, take) => {
        for (const one of network?.interfaces ?? []) {
          take(counts(one)[field], labels, reading.atMs, known.single('interface', one.name));
        }
      },
    })),
  );
}

function pressureFamilies(): RowFamily[] {
  const kinds: readonly (readonly [string, (pressure: Pressure) => PressureOf, string])[] = [
    ['stalled', ({ full }) => full, 'no tasks in the container could make progress'],
    ['waiting', ({ some }) => some, 'tasks in the container have waited'],
  ];
  return (['cpu', 'io', 'memory'] as const).flatMap((resource) =>
    kinds.map(([kind, part, what]) =>
      counter(
        `container_pressure_${resource}_${kind}_seconds_total`,
        `Total time duration ${what} due to ${resource === 'io' ? 'IO' : resource} congestion.`,
        ({ usage }) => {
          const pressure = usage.pressures?.[resource];
          return pressure && part(pressure).total / US;
        },
      ),
    ),
  );
}
