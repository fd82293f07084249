export { type VolumeGoal, volumeGoal } from './goal.ts';
export { type FileKind, type HostPathStep, hostPathStep } from './host-path.ts';
export { neededVolumes } from './needed.ts';
export { VolumePathError, emptyDirFolder, podFolder, podsFolder, volumesFolder } from './paths.ts';
export { type VolumePlan, type VolumeSettings, type VolumeStep, hasNoSwap, planVolumes } from './plan.ts';
export { failedMount, retryWait } from './retry.ts';
