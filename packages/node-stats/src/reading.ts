import type { CgroupUsage } from '@kubus/cgroup-config';
import type { PodRef } from '@kubus/contracts';

/** What was read of a node at one time. Times are milliseconds since the Unix epoch. */
export interface NodeReading {
  readonly name: string;
  readonly atMs: number;
  readonly machine: MachineReading;
  /** The machine's topmost cgroup. */
  readonly root: CgroupReading;
  /** That of all pods and those of their classes; only what is there. The first one is that of all pods. */
  readonly tiers: readonly CgroupReading[];
  readonly network?: NetworkReading | undefined;
  /** Where the pods' files are. */
  readonly fs?: FileSystemReading | undefined;
  /** Where the runtime has its images, and what its containers write. */
  readonly imageFs?: FileSystemReading | undefined;
  readonly containerFs?: FileSystemReading | undefined;
  readonly processes?: ProcessesReading | undefined;
  /** Of the file systems above, each one once. */
  readonly devices: readonly DeviceReading[];
  readonly pods: readonly PodReading[];
}

export interface MachineReading {
  readonly bootedAtMs: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly cpus: number;
  readonly cores: number;
  readonly sockets: number;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernel: string;
  readonly os: string;
  /** Names of its disks, such as `/dev/sda`, by `major:minor`. */
  readonly disks: ReadonlyMap<string, string>;
}

export interface CgroupReading {
  readonly path: string;
  readonly atMs: number;
  readonly startedAtMs: number;
  readonly usage: CgroupUsage;
  /** CPU in billionths of one, since the reading before; undefined where there is none. */
  readonly nanoCores: number | undefined;
  /** Left out where nobody asks. */
  readonly processes?: number | undefined;
  readonly openFiles?: number | undefined;
  readonly openFilesLimit?: number | undefined;
}

/** Bytes and files. */
export interface FileSystemReading {
  readonly atMs: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

export interface NetworkReading {
  readonly atMs: number;
  readonly interfaces: readonly InterfaceReading[];
}

/** What came in and went out since the interface was made. */
export interface InterfaceReading {
  readonly name: string;
  readonly received: PacketCounts;
  readonly sent: PacketCounts;
}

export interface PacketCounts {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

/** Processes and threads of the machine. */
export interface ProcessesReading {
  readonly atMs: number;
  readonly most: number;
  readonly now: number;
}

/** A file system and the device that it is on. */
export interface DeviceReading {
  /** Such as `/dev/sda1`. */
  readonly device: string;
  readonly fs: FileSystemReading;
  /** Undefined where the kernel does not tell: it is no disk. */
  readonly counts: DiskCounts | undefined;
}

/** What a disk has done since the machine was started (Documentation/admin-guide/iostats.rst). Times are milliseconds. */
export interface DiskCounts {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  /** Under way now. */
  readonly current: number;
  readonly busyMs: number;
  readonly weightedMs: number;
}

export interface PodReading {
  readonly ref: PodRef;
  readonly startedAtMs: number;
  readonly cgroup: CgroupReading | undefined;
  /** Undefined where there is none, or nobody asks. */
  readonly sandbox?: { readonly id: string; readonly cgroup: CgroupReading | undefined } | undefined;
  /** All that run in it; left out where nobody asks. */
  readonly processes?: number | undefined;
  /** Of its own network; left out where it has none, or nobody asks. */
  readonly network?: NetworkReading | undefined;
  /** Those that run. */
  readonly containers: readonly ContainerReading[];
  readonly volumes: readonly VolumeReading[];
}

export interface ContainerReading {
  readonly name: string;
  readonly id: string;
  readonly image: string;
  /** Absolute path of its log; empty where it has none. */
  readonly logPath: string;
  readonly startedAtMs: number;
  /** Undefined where it is not there (any more). */
  readonly cgroup: CgroupReading | undefined;
  /** What the container has written into its own layer; left out where that is not known, or nobody asks. */
  readonly rootfs?: FileSystemReading | undefined;
  readonly logs?: FileSystemReading | undefined;
}

export interface VolumeReading extends FileSystemReading {
  readonly name: string;
  readonly claim?: { readonly namespace: string; readonly name: string } | undefined;
  /** It is in the node's own file system and ends with the pod. */
  readonly isLocal: boolean;
}
