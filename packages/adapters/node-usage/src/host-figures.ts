import { textOf } from '@kubus/cgroup';
import type { MachineMemory } from '@kubus/cgroup-config';
import { deviceOf, parseMounts } from '@kubus/filesystem';
import {
  type DeviceReading,
  type FileSystemReading,
  type MachineReading,
  type NetworkReading,
  type ProcessesReading,
  bootedAt,
  diskLines,
  interfaceReadings,
  machineMemory,
  openFilesLimit,
  processors,
  threadCount,
} from '@kubus/node-metrics';
import type { Clock } from '@kubus/ports';
import { openDescriptors, readMachine } from '@kubus/service-kit';
import { lstatSync, readdirSync, readlinkSync, statSync, statfsSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** Where this process finds the machine's files. */
export interface HostPlaces {
  /** proc(5) of the machine, with the processes of its pods. */
  readonly proc: string;
  /** A folder in which the machine's files have their paths of the machine; empty when their paths are the same here. */
  readonly root: string;
}

/** What does not change while the machine runs, except for its disks. */
type Machine = Omit<MachineReading, 'disks' | 'memoryBytes' | 'swapBytes'>;

export interface OpenFiles {
  readonly openFiles: number;
  /** Those of them that are sockets. */
  readonly openSockets: number;
  /** Undefined: unknown. */
  readonly openFilesLimit: number | undefined;
}

/**
 * How long the cached open-file limit of a process is valid, in milliseconds: it rarely changes for a running process.
 */
const LIMITS_MS = 5 * 60_000;

/** The size of the blocks in which the kernel counts the size of a file, independent of the file system's own block size. */
const BLOCK = 512;

/** Figures of the machine, read at the time of the call from small files of the kernel, synchronously. */
export class HostFigures {
  readonly #places: HostPlaces;
  readonly #clock: Clock;
  #machine: Machine | undefined;
  /** Limits of open files by process. */
  readonly #limits = new Map<number, number | undefined>();
  #limitsAt = -Infinity;
  /** Keyed by path: the number of the file system's device, and its name. */
  readonly #devices = new Map<string, { readonly number: number | undefined; readonly device: string | undefined }>();

  constructor(places: HostPlaces, clock: Clock) {
    this.#places = places;
    this.#clock = clock;
  }

  /** The machine, its memory usage, and the counters of its disks. */
  machine(): { readonly machine: MachineReading; readonly memory: MachineMemory } {
    this.#machine ??= this.#readMachine();
    const { totalBytes, usedBytes, ...swap } = machineMemory(this.#proc('meminfo'));
    const disks = new Map(diskLines(this.#proc('diskstats')).map(({ number, device }) => [number, device]));
    const machine = { ...this.#machine, memoryBytes: totalBytes, swapBytes: swap.swapBytes, disks };
    const memory = { usageBytes: usedBytes, limitBytes: totalBytes, swapBytes: swap.swapUsedBytes };
    return { machine, memory: { ...memory, swapLimitBytes: swap.swapBytes } };
  }

  /** The counters of the interfaces of a process' network; of this process' own when none is given. */
  network(process: number | 'self' = 'self'): NetworkReading | undefined {
    const atMs = this.#clock.now();
    const text = textOf(`${this.#places.proc}/${process}/net/dev`);
    return text === undefined ? undefined : { atMs, interfaces: interfaceReadings(text) };
  }

  processes(): ProcessesReading | undefined {
    const now = threadCount(this.#proc('loadavg'));
    const most = Math.min(...['pid_max', 'threads-max'].map((name) => Number(this.#proc(`sys/kernel/${name}`))));
    return now === undefined || !(most > 0) ? undefined : { atMs: this.#clock.now(), most, now };
  }

  /** The number of files that these processes have open, and the limit of the first process. */
  openFiles(processes: readonly number[]): OpenFiles {
    const [first] = processes;
    const folders = processes.map((process) => `${this.#places.proc}/${process}/fd`);
    return {
      openFiles: folders.reduce((sum, folder) => sum + (openDescriptors(folder) ?? 0), 0),
      openSockets: folders.reduce((sum, folder) => sum + socketsIn(folder), 0),
      openFilesLimit: first === undefined ? undefined : this.#openFilesLimit(first),
    };
  }

  /** The file system at a path of the machine; undefined when it cannot be read. */
  fileSystem(path: string): FileSystemReading | undefined {
    try {
      const { bsize, blocks, bfree, bavail, files, ffree } = statfsSync(join(this.#places.root, path));
      return {
        ...{ atMs: this.#clock.now(), capacityBytes: blocks * bsize, availableBytes: bavail * bsize },
        ...{ usedBytes: (blocks - bfree) * bsize, inodes: files, inodesFree: ffree, inodesUsed: files - ffree },
      };
    } catch {
      return undefined;
    }
  }

  /** The file systems at these paths with their devices, each one once. */
  devices(paths: readonly string[]): DeviceReading[] {
    const counts = new Map(diskLines(this.#proc('diskstats')).map((line) => [line.device, line.counts]));
    const found = new Map<string, DeviceReading>();
    for (const path of paths) {
      const device = this.#device(join(this.#places.root, path));
      const fs = this.fileSystem(path);
      if (device !== undefined && fs !== undefined) found.set(device, { device, fs, counts: counts.get(device) });
    }
    return [...found.values()];
  }

  /** The size of the files directly in a folder and of the folder itself; undefined when it does not exist. */
  folder(path: string): { readonly usedBytes: number; readonly inodesUsed: number } | undefined {
    const folder = join(this.#places.root, path);
    try {
      const names = readdirSync(folder);
      // A log may be rotated in the meantime.
      const stats = ['', ...names].map((name) => lstatSync(`${folder}/${name}`, { throwIfNoEntry: false }));
      const usedBytes = stats.reduce((sum, stat) => sum + (stat?.blocks ?? 0) * BLOCK, 0);
      return { usedBytes, inodesUsed: stats.filter((stat) => stat !== undefined).length };
    } catch {
      return undefined;
    }
  }

  /**
   * A machine with many pods has a thousand mounts: they are read only when a path is on another file system than
   * before.
   */
  #device(path: string): string | undefined {
    const number = statSync(path, { throwIfNoEntry: false })?.dev;
    const known = this.#devices.get(path);
    if (number !== undefined && known?.number === number) return known.device;
    const device = deviceOf(path, parseMounts(this.#proc('self/mountinfo')));
    this.#devices.set(path, { number, device });
    return device;
  }

  #readMachine(): Machine {
    const { machineId, systemUuid, bootId, kernelVersion: kernel, osImage: os } = readMachine();
    const ids = { machineId, systemUuid, bootId, kernel, os };
    return {
      ...ids,
      ...processors(this.#proc('cpuinfo')),
      bootedAtMs: bootedAt(this.#proc('stat')),
      cpus: cpus().length,
    };
  }

  #openFilesLimit(process: number): number | undefined {
    const now = this.#clock.now();
    if (now - this.#limitsAt >= LIMITS_MS) {
      this.#limits.clear();
      this.#limitsAt = now;
    }
    if (!this.#limits.has(process)) this.#limits.set(process, openFilesLimit(this.#proc(`${process}/limits`)));
    return this.#limits.get(process);
  }

  #proc(file: string): string {
    return textOf(`${this.#places.proc}/${file}`) ?? '';
  }
}

/** How many of the descriptors in a folder `fd` of proc(5) are sockets; those that are closed meanwhile are not. */
function socketsIn(folder: string): number {
  try {
    return readdirSync(folder).filter((descriptor) => isSocket(`${folder}/${descriptor}`)).length;
  } catch {
    // The process has ended.
    return 0;
  }
}

function isSocket(descriptor: string): boolean {
  try {
    return readlinkSync(descriptor).startsWith('socket:');
  } catch {
    return false;
  }
}
