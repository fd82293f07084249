export { type InstanceFamilies, mergeFamilies } from './merge.ts';
export { parseFamilies } from './parse.ts';
export { type PodsNow, podGauges } from './pod-gauges.ts';
export { cadvisorMetrics } from './stats/cadvisor-metrics.ts';
export {
  bootedAt,
  diskLines,
  interfaceReadings,
  machineMemory,
  openFilesLimit,
  processors,
  threadCount,
} from './stats/machine-texts.ts';
export { type CpuTime, isComparable, nanoCores } from './stats/rates.ts';
export type {
  CgroupReading,
  ContainerReading,
  DeviceReading,
  FileSystemReading,
  MachineReading,
  NetworkReading,
  NodeReading,
  PodReading,
  ProcessesReading,
  SystemPrograms,
  SystemReading,
  VolumeReading,
} from './stats/reading.ts';
export { resourceMetrics } from './stats/resource-metrics.ts';
export { RowLabels } from './stats/row-labels.ts';
export { type ShownPod, shownPods } from './stats/shown-pods.ts';
export { statsSummary } from './stats/summary.ts';
