import type { DiskCounts, InterfaceReading, PacketCounts } from './reading.ts';

/** Interfaces that do not count as traffic of a machine or a pod: loopback, and the host's ends of pod interfaces. */
const OTHERS = /^(lo|veth|docker|nerdctl)/;

/** `/proc/net/dev` of a network namespace (proc(5)). */
export function interfaceReadings(text: string): InterfaceReading[] {
  return text.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim();
    if (colon === -1 || OTHERS.test(name)) return [];
    const fields = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    return [{ name, received: countsAt(fields, 0), sent: countsAt(fields, 8) }];
  });
}

function countsAt(fields: readonly number[], at: number): PacketCounts {
  const [bytes = 0, packets = 0, errors = 0, dropped = 0] = fields.slice(at);
  return { bytes, packets, errors, dropped };
}

/** `/proc/meminfo`, in bytes. */
export function machineMemory(text: string): {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly swapBytes: number;
  readonly swapUsedBytes: number;
} {
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  const [totalBytes, swapBytes] = [bytes('MemTotal'), bytes('SwapTotal')];
  return {
    ...{ totalBytes, swapBytes },
    usedBytes: totalBytes - bytes('MemFree'),
    swapUsedBytes: swapBytes - bytes('SwapFree'),
  };
}

/** The time at which the machine was started, from `/proc/stat`, in milliseconds since the Unix epoch. */
export function bootedAt(text: string): number {
  return Number(/^btime (\d+)/m.exec(text)?.[1] ?? 0) * 1000;
}

/** Processes and threads from `/proc/loadavg`; undefined where it does not contain them. */
export function threadCount(text: string): number | undefined {
  const count = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(text)?.[1];
  return count === undefined ? undefined : Number(count);
}

/** The soft limit of open files from `/proc/<pid>/limits`; -1 where there is no limit; undefined where the file does not contain it. */
export function openFilesLimit(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? -1 : Number(soft);
}

/** Sockets and cores from `/proc/cpuinfo`; where it does not contain them, each processor counts as a core. */
export function processors(text: string): { readonly cores: number; readonly sockets: number } {
  const sockets = new Set<string>();
  const cores = new Set<string>();
  const all = text.split(/\n\s*\n/).filter((block) => /^processor\s*:/m.test(block));
  for (const block of all) {
    const socket = /^physical id\s*:\s*(\d+)/m.exec(block)?.[1] ?? '0';
    sockets.add(socket);
    const core = /^core id\s*:\s*(\d+)/m.exec(block)?.[1];
    cores.add(core === undefined ? `processor ${cores.size}` : `${socket} ${core}`);
  }
  return { cores: Math.max(cores.size, 1), sockets: Math.max(sockets.size, 1) };
}

/** A line of `/proc/diskstats`. */
export interface DiskLine {
  /** `major:minor`. */
  readonly number: string;
  /** Such as `/dev/sda`. */
  readonly device: string;
  readonly counts: DiskCounts;
}

/** `/proc/diskstats` (Documentation/admin-guide/iostats.rst). */
export function diskLines(text: string): DiskLine[] {
  return text.split('\n').flatMap((line) => {
    const [major, minor, name, ...fields] = line.trim().split(/\s+/);
    if (major === undefined || minor === undefined || name === undefined) return [];
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readMs = 0, ...more] = fields.map(Number);
    const [writes = 0, writesMerged = 0, sectorsWritten = 0, writeMs = 0, current = 0, busyMs = 0, weightedMs = 0] =
      more;
    const read = { reads, readsMerged, sectorsRead, readMs };
    const written = { writes, writesMerged, sectorsWritten, writeMs };
    return [
      {
        number: `${major}:${minor}`,
        device: `/dev/${name}`,
        counts: { ...read, ...written, current, busyMs, weightedMs },
      },
    ];
  });
}
