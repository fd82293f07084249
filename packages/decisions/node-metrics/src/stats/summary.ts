import { timeOfMs } from '@kubus/pod';
import type {
  CgroupReading,
  ContainerReading,
  FileSystemReading,
  NodeReading,
  PodReading,
  VolumeReading,
} from './reading.ts';
import { type Json, cpu, fileSystem, io, memory, network, swap } from './summary-parts.ts';

export interface SummaryOptions {
  /** Default: everything. */
  readonly onlyCpuAndMemory?: boolean;
}

/** The document of `/stats/summary` (behaviour:stats-summary; config-api kubelet-stats v1alpha1). */
export function statsSummary(reading: NodeReading, { onlyCpuAndMemory = false }: SummaryOptions = {}): Json {
  const node = nodeUsage(reading, onlyCpuAndMemory);
  return {
    node: onlyCpuAndMemory ? node : { ...node, ...nodeStorage(reading) },
    pods: reading.pods.map((pod) => podStats(pod, reading.fs, onlyCpuAndMemory)),
  };
}

function nodeUsage({ name, machine, root, tiers, system = [], network: interfaces }: NodeReading, less: boolean): Json {
  const [pods] = tiers;
  return {
    nodeName: name,
    systemContainers: [
      ...system.map(({ name: programs, cgroup }) => systemContainer(programs, cgroup, less)),
      ...(pods === undefined ? [] : [systemContainer('pods', pods, less)]),
    ],
    ...{ startTime: timeOfMs(machine.bootedAtMs), cpu: cpu(root), memory: memory(root) },
    ...(!less && { io: io(root), ...network(interfaces) }),
    ...swap(root),
  };
}

function systemContainer(name: string, cgroup: CgroupReading, less: boolean): Json {
  return {
    ...{ name, startTime: timeOfMs(cgroup.startedAtMs), cpu: cpu(cgroup), memory: memory(cgroup) },
    ...(!less && { io: io(cgroup) }),
    ...swap(cgroup),
  };
}

function nodeStorage({ fs, imageFs, containerFs, processes }: NodeReading): Json {
  return {
    ...(fs && { fs: fileSystem(fs) }),
    runtime: {
      ...(imageFs && { imageFs: fileSystem(imageFs) }),
      ...(containerFs && { containerFs: fileSystem(containerFs) }),
    },
    ...(processes && {
      rlimit: { time: timeOfMs(processes.atMs), maxpid: processes.most, curproc: processes.now },
    }),
  };
}

function podStats(pod: PodReading, fs: FileSystemReading | undefined, less: boolean): Json {
  const { ref, cgroup, containers, volumes, processes = 0 } = pod;
  return {
    podRef: { name: ref.name, namespace: ref.namespace, uid: ref.uid },
    startTime: timeOfMs(pod.startedAtMs),
    containers: containers.flatMap((container) => containerStats(container, less)),
    ...(cgroup && { cpu: cpu(cgroup), memory: memory(cgroup) }),
    ...(!less && {
      ...(cgroup && { io: io(cgroup) }),
      ...network(pod.network),
      ...(volumes.length > 0 && { volume: volumes.map(volumeStats) }),
      ...(fs && { 'ephemeral-storage': ephemeralStorage(pod, fs) }),
      ...(processes > 0 && { process_stats: { process_count: processes } }),
    }),
    ...(cgroup && swap(cgroup)),
  };
}

function containerStats({ name, startedAtMs, cgroup, rootfs, logs }: ContainerReading, less: boolean): Json[] {
  if (cgroup === undefined) return [];
  return [
    {
      ...{ name, startTime: timeOfMs(startedAtMs), cpu: cpu(cgroup), memory: memory(cgroup) },
      ...(!less && {
        io: io(cgroup),
        ...(rootfs && { rootfs: fileSystem(rootfs) }),
        ...(logs && { logs: fileSystem(logs) }),
      }),
      ...swap(cgroup),
    },
  ];
}

function volumeStats(volume: VolumeReading): Json {
  const { name, claim } = volume;
  return {
    ...fileSystem(volume),
    name,
    ...(claim && { pvcRef: { name: claim.name, namespace: claim.namespace } }),
  };
}

/** The pod's use of the node's own file system: layers, logs, and volumes that are removed with the pod. */
function ephemeralStorage({ containers, volumes }: PodReading, fs: FileSystemReading): Json {
  const parts = [
    ...containers.flatMap(({ rootfs, logs }) => [rootfs, logs].filter((part) => part !== undefined)),
    ...volumes.filter(({ isLocal }) => isLocal),
  ];
  const usedBytes = parts.reduce((sum, part) => sum + part.usedBytes, 0);
  const inodesUsed = parts.reduce((sum, part) => sum + part.inodesUsed, 0);
  return fileSystem({ ...fs, usedBytes, inodesUsed });
}
