export {
  type ContainerSettings,
  type ContainerTemplate,
  completeContainer,
  containerConfig,
  containerTemplate,
  logFolder,
  logPath,
} from './container-config.ts';
export { isCritical } from './critical.ts';
export { type DnsSettings, type DnsWarning, type PodDns, dnsConfig } from './dns.ts';
export { type DownwardSettings, fieldValue, resourceFieldValue } from './downward-api.ts';
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
export { expand } from './expand.ts';
export { type PodHostname, kernelHostname, podHostname } from './hostname.ts';
export { hostNetworkHostsFile, podHostsFile } from './hosts.ts';
export { type MemoryQosSettings, type SwapSettings, pageSizeName } from './memory.ts';
export { type MountSettings, type MountedVolume, containerMounts, subPathOf } from './mounts.ts';
export { refuseUserNamespace } from './namespaces.ts';
export { askedAppArmor } from './profiles.ts';
export { hasTrustBundles, mountedObjects, pullSecrets, referencedObjects } from './referenced-objects.ts';
export { resolvConfWarning } from './resolv-conf.ts';
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
export { type SandboxSettings, podLabels, sandboxConfig, sysctlName } from './sandbox-config.ts';
export { type PodSecuritySettings, type SecuritySettings } from './security.ts';
export { serviceNamespaces } from './service-links.ts';
