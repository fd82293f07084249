export { type ContainerSettings, containerConfig, logFolder, logPath } from './container-config.ts';
export { expand } from './expand.ts';
export { type SandboxSettings, podLabels, sandboxConfig } from './sandbox-config.ts';
