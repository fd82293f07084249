export { cadvisorMetrics } from './cadvisor-metrics.ts';
export {
  type DiskLine,
  bootedAt,
  deviceOf,
  diskLines,
  interfaceReadings,
  machineMemory,
  openFilesLimit,
  processors,
  threadCount,
} from './machine-texts.ts';
export { type CpuTime, isComparable, nanoCores } from './rates.ts';
export type {
  CgroupReading,
  ContainerReading,
  DeviceReading,
  DiskCounts,
  FileSystemReading,
  InterfaceReading,
  MachineReading,
  NetworkReading,
  NodeReading,
  PacketCounts,
  PodReading,
  ProcessesReading,
  VolumeReading,
} from './reading.ts';
export { resourceMetrics } from './resource-metrics.ts';
export { RowLabels } from './row-labels.ts';
export { type ShownPod, shownPods } from './shown-pods.ts';
export { type SummaryOptions, statsSummary } from './summary.ts';
