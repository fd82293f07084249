import type { CgroupUsage } from '@kubus/cgroup-config';
import type { PodRef } from '@kubus/contracts';

/** One reading of a node. Times are milliseconds since the Unix epoch. */
export interface NodeReading {
  readonly name: string;
  readonly atMs: number;
  readonly machine: MachineReading;
  /** The machine's root cgroup. */
  readonly root: CgroupReading;
  /** The cgroup of all pods and those of their QoS classes, as far as they exist. The first one is that of all pods. */
  readonly tiers: readonly CgroupReading[];
  /** Other programs than pods, as far as their cgroups are known and exist. Omitted: none. */
  readonly system?: readonly SystemReading[] | undefined;
  readonly network?: NetworkReading | undefined;
  /** The file system of the pods' files. */
  readonly fs?: FileSystemReading | undefined;
  /** The file systems of the runtime's images and of the writable layers of its containers. */
  readonly imageFs?: FileSystemReading | undefined;
  readonly containerFs?: FileSystemReading | undefined;
  readonly processes?: ProcessesReading | undefined;
  /** The disks of the file systems above, each listed once. */
  readonly devices: readonly DeviceReading[];
  readonly pods: readonly PodReading[];
}

/** The programs that the summary lists beside the pods; `misc` are the system's own. */
export type SystemPrograms = 'kubelet' | 'runtime' | 'misc';

export interface SystemReading {
  readonly name: SystemPrograms;
  readonly cgroup: CgroupReading;
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
  /** CPU use in billionths of one CPU since the previous reading; undefined where there is none. */
  readonly nanoCores: number | undefined;
  /** Omitted where it is not requested. */
  readonly processes?: number | undefined;
  readonly openFiles?: number | undefined;
  readonly openSockets?: number | undefined;
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

/** What was received and sent since the interface was created. */
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

/** A file system and its device. */
export interface DeviceReading {
  /** Such as `/dev/sda1`. */
  readonly device: string;
  readonly fs: FileSystemReading;
  /** Undefined where the kernel does not report it, because it is not a disk. */
  readonly counts: DiskCounts | undefined;
}

/** The operations of a disk since the machine was started (Documentation/admin-guide/iostats.rst). Times are milliseconds. */
export interface DiskCounts {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  /** In progress now. */
  readonly current: number;
  readonly busyMs: number;
  readonly weightedMs: number;
}

export interface PodReading {
  readonly ref: PodRef;
  readonly startedAtMs: number;
  readonly cgroup: CgroupReading | undefined;
  /** Undefined where there is none, or where it is not requested. */
  readonly sandbox?: { readonly id: string; readonly cgroup: CgroupReading | undefined } | undefined;
  /** All processes running in it; omitted where they are not requested. */
  readonly processes?: number | undefined;
  /** Interfaces of its own network; omitted where it has none, or where they are not requested. */
  readonly network?: NetworkReading | undefined;
  /** Its running containers. */
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
  /** Undefined where the cgroup does not exist (any more). */
  readonly cgroup: CgroupReading | undefined;
  /** The container's writable layer; omitted where it is unknown or not requested. */
  readonly rootfs?: FileSystemReading | undefined;
  readonly logs?: FileSystemReading | undefined;
}

export interface VolumeReading extends FileSystemReading {
  readonly name: string;
  readonly claim?: { readonly namespace: string; readonly name: string } | undefined;
  /** The volume is in the node's own file system and is removed with the pod. */
  readonly isLocal: boolean;
}
