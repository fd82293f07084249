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
  podOfCgroup,
  podPath,
  tierOf,
  tierPath,
} from './names.ts';
