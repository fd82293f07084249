export { type ContainerSettings, completeContainer, containerConfig, containerTemplate } from './container-config.ts';
export { type DnsSettings, dnsConfig } from './dns.ts';
export { fieldValue, resourceFieldValue } from './downward-api.ts';
export {
  type EnvFileTexts,
  type ObjectLookup,
  completeEnvironment,
  envFilePath,
  environmentFiles,
  environmentObjects,
} from './environment.ts';
export { type EnvironmentSettings, environmentPlan } from './environment-plan.ts';
export { ContainerConfigError, SandboxConfigError } from './errors.ts';
export { kernelHostname, podHostname } from './hostname.ts';
export { hostNetworkHostsFile, podHostsFile } from './hosts.ts';
export { type MemoryReservation, maySwap, pageSizeName } from './memory.ts';
export { type MountSettings, type MountedVolume, containerMounts, subPathOf } from './mounts.ts';
export { refuseUserNamespace } from './namespaces.ts';
export { type SeccompSettings, askedAppArmor } from './profiles.ts';
export { hasTrustBundles, mountedObjects, pullSecrets, referencedObjects } from './referenced-objects.ts';
export {
  type ContainerResourceSettings,
  type ResourceSettings,
  containerResources,
  cpuQuota,
  cpuShares,
  sandboxOverhead,
  sandboxResources,
} from './resources.ts';
export { type ImageUser, imageUser } from './run-as.ts';
export { type SandboxSettings, sandboxConfig, sysctlName } from './sandbox-config.ts';
export { type PodSecuritySettings, type SecuritySettings } from './security.ts';
export { serviceNamespaces } from './service-links.ts';
