export { hasResourceFields } from './downward-files.ts';
export { claimsOf } from './claim-name.ts';
export { csiSecretsOf, csiVolumeOf } from './csi-claim.ts';
export {
  type CsiVolumeName,
  attachmentName,
  csiDevicePlace,
  csiPodPath,
  csiStagingPlace,
  inlineVolumeHandle,
  pluginRegistry,
  podCsiFolders,
} from './csi-paths.ts';
export { csiAccessMode, expandedCapacity } from './csi-volume.ts';
export { type VolumeGoal, volumeGoal } from './goal.ts';
export { type VolumeSettings, hasNoSwap } from './folders.ts';
export { type FileKind, hostPathStep } from './host-path.ts';
export type { KnownObjects } from './known.ts';
export { type LocalVolume, planLocal } from './local.ts';
export { neededVolumes } from './needed.ts';
export { type NfsVolume, planNfs } from './nfs.ts';
export {
  OWNERSHIP_NEWS_MS,
  type OwnedFile,
  type VolumeOwnership,
  ownershipChange,
  ownershipNeeded,
  ownershipNews,
} from './ownership.ts';
export {
  type SubPathPlace,
  VolumePathError,
  emptyDirFolder,
  localDevicesFolder,
  localMountsFolder,
  podFolder,
  podsFolder,
  subPathPlace,
  subPathsFolder,
  volumeDevicesFolder,
  volumesFolder,
} from './paths.ts';
export { planVolumes } from './plan.ts';
export { pluginName, stepPath } from './step-names.ts';
export { failedMount, retryWait } from './retry.ts';
export {
  FIRST_PROJECT,
  type ProjectFiles,
  nextProject,
  projectAt,
  projectFolders,
  withProject,
  withoutProjects,
} from './project-files.ts';
export { type LimitedFolder, limitedFolders, sizeExcess } from './size-limit.ts';
export type {
  ClaimReference,
  ContentFile,
  ContentSource,
  ContentStep,
  CsiStep,
  FolderStep,
  HostStep,
  LocalDeviceStep,
  LocalStep,
  MemoryStep,
  NfsStep,
  VolumePlan,
  VolumeStep,
} from './step.ts';
export { type PodDemand, type TokenHolder, demandOf } from './objects/pod-demand.ts';
export { References } from './objects/references.ts';
export { isExpired, refreshAt } from './objects/token-life.ts';
