import type { Labels, MetricFamily, MetricSample, TakeSample } from '@kubus/metrics';
import { type RowContext, type RowFamily, rowFamilies } from './cadvisor-families.ts';
import { type Row, cadvisorRows } from './cadvisor-rows.ts';
import { RowLabels } from './row-labels.ts';
import type { DeviceReading, DiskCounts, FileSystemReading, MachineReading, NodeReading } from './reading.ts';

/** Milliseconds in a second. */
const MS = 1000;

type Of<T> = readonly [name: string, help: string, type: 'counter' | 'gauge', value: (one: T) => number];

const fileSystemFamilies: readonly Of<FileSystemReading>[] = [
  ['container_fs_inodes_free', 'Number of available Inodes', 'gauge', (fs) => fs.inodesFree],
  ['container_fs_inodes_total', 'Number of Inodes', 'gauge', (fs) => fs.inodes],
  [
    'container_fs_limit_bytes',
    'Number of bytes that can be consumed by the container on this filesystem.',
    'gauge',
    (fs) => fs.capacityBytes,
  ],
  [
    'container_fs_usage_bytes',
    'Number of bytes that are consumed by the container on this filesystem.',
    'gauge',
    (fs) => fs.usedBytes,
  ],
];

/** Metrics of disks only; bytes and numbers of operations are published for each cgroup. */
const diskFamilies: readonly Of<DiskCounts>[] = [
  ['container_fs_io_current', 'Number of I/Os currently in progress', 'gauge', (disk) => disk.current],
  [
    'container_fs_io_time_seconds_total',
    'Cumulative count of seconds spent doing I/Os',
    'counter',
    (disk) => disk.busyMs / MS,
  ],
  [
    'container_fs_io_time_weighted_seconds_total',
    'Cumulative weighted I/O time in seconds',
    'counter',
    (disk) => disk.weightedMs / MS,
  ],
  [
    'container_fs_read_seconds_total',
    'Cumulative count of seconds spent reading',
    'counter',
    (disk) => disk.readMs / MS,
  ],
  ['container_fs_reads_merged_total', 'Cumulative count of reads merged', 'counter', (disk) => disk.readsMerged],
  [
    'container_fs_sector_reads_total',
    'Cumulative count of sector reads completed',
    'counter',
    (disk) => disk.sectorsRead,
  ],
  [
    'container_fs_sector_writes_total',
    'Cumulative count of sector writes completed',
    'counter',
    (disk) => disk.sectorsWritten,
  ],
  [
    'container_fs_write_seconds_total',
    'Cumulative count of seconds spent writing',
    'counter',
    (disk) => disk.writeMs / MS,
  ],
  ['container_fs_writes_merged_total', 'Cumulative count of writes merged', 'counter', (disk) => disk.writesMerged],
];

const machineFamilies: readonly Of<MachineReading>[] = [
  ['machine_cpu_cores', 'Number of logical CPU cores.', 'gauge', (machine) => machine.cpus],
  ['machine_cpu_physical_cores', 'Number of physical CPU cores.', 'gauge', (machine) => machine.cores],
  ['machine_cpu_books', 'Number of CPU books.', 'gauge', noneOfThem],
  ['machine_cpu_drawers', 'Number of CPU drawers.', 'gauge', noneOfThem],
  ['machine_nvm_avg_power_budget_watts', 'NVM power budget.', 'gauge', noneOfThem],
  ['machine_cpu_sockets', 'Number of CPU sockets.', 'gauge', (machine) => machine.sockets],
  ['machine_memory_bytes', 'Amount of memory installed on the machine.', 'gauge', (machine) => machine.memoryBytes],
  ['machine_swap_bytes', 'Amount of swap memory available on the machine.', 'gauge', (machine) => machine.swapBytes],
];

/**
 * The families of `/metrics/cadvisor` (behaviour:cadvisor-metrics), with the time of each reading.
 *
 * @param labels those of the previous reading: unchanged labels are then the same object
 */
export function cadvisorMetrics(reading: NodeReading, labels = new RowLabels()): MetricFamily[] {
  const { root, machine, devices } = reading;
  const rows = cadvisorRows(reading, labels);
  const [node] = rows;
  const ofNode = node?.labels ?? {};
  const context = { disks: machine.disks, devices, known: labels };
  return [
    {
      name: 'cadvisor_version_info',
      help: "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      type: 'gauge',
      samples: [{ labels: versionLabels(machine), value: 1 }],
    },
    ...rowFamilies.map((family) => ofRows(family, rows, context)),
    ...fileSystemFamilies.map((family) =>
      ofDevices(family, devices, ({ fs }) => fs, { labels: ofNode, timestampMs: root.atMs }),
    ),
    ...diskFamilies.map((family) =>
      ofDevices(family, devices, ({ counts }) => counts, { labels: ofNode, timestampMs: root.atMs }),
    ),
    ...machineFamilies.map(([name, help, type, value]) => ({
      ...{ name, help, type },
      samples: [{ labels: machineLabels(machine), value: value(machine) }],
    })),
    {
      name: 'machine_nvm_capacity',
      help: 'NVM capacity value labeled by NVM mode (memory mode or app direct mode).',
      type: 'gauge',
      samples: ['memory_mode', 'app_direct_mode'].map((mode) => ({
        labels: { ...machineLabels(machine), mode },
        value: noneOfThem(),
      })),
    },
    noError('container_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise'),
    noError('machine_scrape_error', '1 if there was an error while getting machine metrics, 0 otherwise.'),
  ];
}

/** The samples are created while they are read: for all families together they would be tens of thousands at a time. */
function ofRows({ name, help, type, ...family }: RowFamily, rows: readonly Row[], context: RowContext): MetricFamily {
  const each = (take: TakeSample) => eachSample(family, rows, context, take);
  return {
    ...{ name, help, type, each },
    get samples() {
      const samples: MetricSample[] = [];
      each((value, labels, timestampMs, further) =>
        samples.push({ labels, ...(further && { further }), value, ...(timestampMs !== undefined && { timestampMs }) }),
      );
      return samples;
    },
  };
}

function eachSample(
  { value, values, isTimeless = false }: Pick<RowFamily, 'value' | 'values' | 'isTimeless'>,
  rows: readonly Row[],
  context: RowContext,
  take: TakeSample,
): void {
  for (const row of rows) {
    const { labels, reading } = row;
    const single = value?.(reading);
    if (single !== undefined) take(single, labels, isTimeless ? undefined : reading.atMs);
    values?.(row, context, take);
  }
}

function ofDevices<T>(
  [name, help, type, value]: Of<T>,
  devices: readonly DeviceReading[],
  part: (device: DeviceReading) => T | undefined,
  sample: Omit<MetricSample, 'value'>,
): MetricFamily {
  const samples = devices.flatMap((one) => {
    const found = part(one);
    if (found === undefined) return [];
    return { ...sample, labels: { ...sample.labels, device: one.device }, value: value(found) };
  });
  return { name, help, type, samples };
}

function noError(name: string, help: string): MetricFamily {
  return { name, help, type: 'gauge', samples: [{ labels: {}, value: 0 }] };
}

/** Only IBM Z has books and drawers; persistent memory is not detected. */
function noneOfThem(): number {
  return 0;
}

/** Kubus has neither cAdvisor nor Docker; the label names are kept because queries join by them. */
function versionLabels({ kernel, os }: MachineReading): Labels {
  return { cadvisorRevision: '', cadvisorVersion: '', dockerVersion: '', kernelVersion: kernel, osVersion: os };
}

function machineLabels({ bootId, machineId, systemUuid }: MachineReading): Labels {
  return { boot_id: bootId, machine_id: machineId, system_uuid: systemUuid };
}
