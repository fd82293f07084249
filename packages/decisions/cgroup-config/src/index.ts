export { type CgroupFile, cgroupFiles, cpuSharesOf, cpuWeight, cpusOfList, milliCpuOf } from './files.ts';
export {
  type CgroupLimits,
  type PodLimitSettings,
  allPodsLimits,
  podLimits,
  podMemoryLimit,
  podMemoryRequest,
  podMilliCpu,
  sharedLimits,
  tierLimits,
} from './limits.ts';
export {
  type CgroupDriver,
  type CgroupNaming,
  type CgroupTier,
  namedPath,
  cgroupOfContainer,
  podOfCgroup,
  podPath,
  tierOf,
  tierPath,
} from './names.ts';
export {
  type MemoryRequests,
  type MemoryReserve,
  type ProtectedMemory,
  protectedMemory,
  reservedTierMemory,
} from './shared-memory.ts';
export { type UnitProperty, limitProperties, roundedLimits, sliceProperties, unitOf } from './units.ts';
export { cgroupOfProcess } from './processes.ts';
export { type Pressure, type PressureOf, pressuresOf } from './pressure.ts';
export {
  type CgroupUsage,
  type DiskUsage,
  type MachineMemory,
  type UsageDetail,
  hasCounted,
  unchangedUsage,
} from './usage.ts';
export { usageV1 } from './usage-v1.ts';
export { usageV2 } from './usage-v2.ts';
