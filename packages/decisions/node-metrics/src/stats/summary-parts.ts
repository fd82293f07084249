import type { Pressure, PressureOf } from '@kubus/cgroup-config';
import { timeOfMs } from '@kubus/pod';
import type { CgroupReading, FileSystemReading, InterfaceReading, NetworkReading } from './reading.ts';

/** A part of a JSON document. */
export type Json = Readonly<Record<string, unknown>>;

/** The interface that stands for the node or the pod as a whole. */
const MAIN_INTERFACE = 'eth0';

export function cpu({ atMs, nanoCores, usage }: CgroupReading): Json {
  return {
    time: timeOfMs(atMs),
    ...(nanoCores !== undefined && { usageNanoCores: nanoCores }),
    usageCoreNanoSeconds: usage.cpuNs,
    ...psi(usage.pressures?.cpu),
  };
}

/** Without a limit, no available amount is reported. */
export function memory({ atMs, usage }: CgroupReading): Json {
  const { limitBytes, workingSetBytes, ...bytes } = usage.memory;
  return {
    time: timeOfMs(atMs),
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
  return { time: timeOfMs(atMs), ...psi(usage.pressures?.io) };
}

export function swap({ atMs, usage }: CgroupReading): Json {
  if (usage.swap === undefined) return {};
  const { bytes, limitBytes } = usage.swap;
  return {
    swap: {
      time: timeOfMs(atMs),
      ...(limitBytes !== undefined && { swapAvailableBytes: Math.max(0, limitBytes - bytes) }),
      swapUsageBytes: bytes,
    },
  };
}

export function fileSystem(fs: FileSystemReading): Json {
  return {
    time: timeOfMs(fs.atMs),
    availableBytes: fs.availableBytes,
    capacityBytes: fs.capacityBytes,
    usedBytes: fs.usedBytes,
    inodesFree: fs.inodesFree,
    inodes: fs.inodes,
    inodesUsed: fs.inodesUsed,
  };
}

/** The main interface is reported in addition to the list of all interfaces. */
export function network(reading: NetworkReading | undefined): Json {
  if (reading === undefined) return {};
  const { atMs, interfaces } = reading;
  const main = interfaces.find(({ name }) => name === MAIN_INTERFACE);
  return {
    network: {
      time: timeOfMs(atMs),
      ...(main === undefined ? { name: '' } : counts(main)),
      interfaces: interfaces.map(counts),
    },
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
