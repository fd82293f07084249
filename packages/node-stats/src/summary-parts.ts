import type { Pressure, PressureOf } from '@kubus/cgroup-config';
import type { CgroupReading, FileSystemReading, InterfaceReading, NetworkReading } from './reading.ts';

/** A part of a JSON document. */
export type Json = Readonly<Record<string, unknown>>;

/** The interface that stands for the node or the pod as a whole. */
const MAIN_INTERFACE = 'eth0';

/** RFC 3339 with whole seconds, as the reference writes times. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export function cpu({ atMs, nanoCores, usage }: CgroupReading): Json {
  return {
    time: timeText(atMs),
    ...(nanoCores !== undefined && { usageNanoCores: nanoCores }),
    usageCoreNanoSeconds: usage.cpuNs,
    ...psi(usage.pressures?.cpu),
  };
}

/** @param capacity stands for the limit of what has none of its own; left out, nothing is said of what is available */
export function memory({ atMs, usage }: CgroupReading, capacity?: number): Json {
  const { limitBytes = capacity, workingSetBytes, ...bytes } = usage.memory;
  return {
    time: timeText(atMs),
    ...(limitBytes !== undefined && { availableBytes: Math.max(0, limitBytes - workingSetBytes) }),
    usageBytes: bytes.usageBytes,
    workingSetBytes,
    rssBytes: bytes.rssBytes,
    pageFaults: bytes.faults.all,
    majorPageFaults: bytes.faults.major,
    ...psi(usage.pressures?.memory),
  };
}

export function io({ atMs, usage }: CgroupReading): Json {
  return { time: timeText(atMs), ...psi(usage.pressures?.io) };
}

/** @param capacity stands for the limit of what has none of its own */
export function swap({ atMs, usage }: CgroupReading, capacity?: number): Json {
  if (usage.swap === undefined) return {};
  const { bytes, limitBytes = capacity } = usage.swap;
  return {
    swap: {
      time: timeText(atMs),
      ...(limitBytes !== undefined && { swapAvailableBytes: Math.max(0, limitBytes - bytes) }),
      swapUsageBytes: bytes,
    },
  };
}

export function fileSystem(fs: FileSystemReading): Json {
  return {
    time: timeText(fs.atMs),
    availableBytes: fs.availableBytes,
    capacityBytes: fs.capacityBytes,
    usedBytes: fs.usedBytes,
    inodesFree: fs.inodesFree,
    inodes: fs.inodes,
    inodesUsed: fs.inodesUsed,
  };
}

/** The main interface stands beside the list of all. */
export function network(reading: NetworkReading | undefined): Json {
  if (reading === undefined) return {};
  const { atMs, interfaces } = reading;
  const main = interfaces.find(({ name }) => name === MAIN_INTERFACE);
  return {
    network: { time: timeText(atMs), ...(main && counts(main)), interfaces: interfaces.map(counts) },
  };
}

function counts({ name, received, sent }: InterfaceReading): Json {
  return {
    name,
    rxBytes: received.bytes,
    rxErrors: received.errors,
    txBytes: sent.bytes,
    txErrors: sent.errors,
  };
}

function psi(pressure: Pressure | undefined): Json {
  return pressure === undefined ? {} : { psi: { full: part(pressure.full), some: part(pressure.some) } };
}

function part({ total, avg10, avg60, avg300 }: PressureOf): Json {
  return { total, avg10, avg60, avg300 };
}
