export { type CgroupFile, cgroupFiles, cpuSharesOf, cpuWeight } from './files.ts';
export {
  type CgroupLimits,
  type PodLimitSettings,
  nodeLimits,
  podLimits,
  podMemoryLimit,
  tierLimits,
} from './limits.ts';
export {
  type CgroupDriver,
  type CgroupNaming,
  type CgroupTier,
  cgroupOfContainer,
  podOfCgroup,
  podPath,
  tierOf,
  tierPath,
} from './names.ts';
export { type Pressure, type PressureOf, type Pressures, pressuresOf } from './pressure.ts';
export {
  type CgroupDetails,
  type CgroupUsage,
  type DiskUsage,
  type MemoryUsage,
  type PageFaults,
  type ReadCgroupFile,
  type UsageDetail,
  type UsageSource,
  hasCounted,
  unchangedUsage,
} from './usage.ts';
export { usageV1 } from './usage-v1.ts';
export { usageV2 } from './usage-v2.ts';
