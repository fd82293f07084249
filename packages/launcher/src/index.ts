export { removeCgroupRoot } from './cgroup-root.ts';
export { type Command, runCommand } from './command.ts';
export { type Containerd, type ContainerdOptions, startContainerd } from './containerd.ts';
export { type ContainerdConfigOptions, containerdConfig, runtimeHandler } from './containerd-config.ts';
export { type ContainerdPrograms, findContainerd } from './containerd-programs.ts';
export { type CpuTimes, agentCpu, readCpuTimes } from './cpu-times.ts';
export { LauncherError } from './errors.ts';
export { type HubChoice, checkRelayed, keepHub, readHub } from './hub.ts';
export { podNamespaces, removeLostNamespaces } from './lost-namespaces.ts';
export {
  type Aspect,
  type MachineSnapshot,
  type SnapshotDifference,
  type SnapshotOptions,
  diffSnapshots,
  takeSnapshot,
  watchedFolders,
} from './machine-snapshot.ts';
export { type Mount, listMounts, mountsUnder, removeTree, unmountAll } from './mounts.ts';
export { type ContainerSettings, containerConfig } from './containers/container-config.ts';
export { type ContainerDir, containerDir } from './containers/container-dir.ts';
export { type UsedSandbox, checkRuntimeUse, sandboxesOfOthers } from './containers/runtime-use.ts';
export { containerServices, userOf } from './containers/container-services.ts';
export {
  createNetworkNamespace,
  deleteNetworkNamespace,
  inNetworkNamespace,
  isNetworkNamespace,
  keepNetworkNamespace,
} from './network-namespace.ts';
export { type KubeletDir, kubeletDir } from './kubelet/kubelet-dir.ts';
export { type NodeDir, type NodeDirOptions, apiSocket, observatorySocket, createNodeDir, nodeDir } from './node-dir.ts';
export {
  type ProcessRecord,
  endProcesses,
  findProcesses,
  isRunning,
  nodeMark,
  readRecords,
  recordOf,
  writeRecord,
} from './process-record.ts';
export { removeNode } from './remove-node.ts';
export { removeRuntime, shimSocket } from './runtime-removal.ts';
export { type StartOptions, type StartedProcess, startProcess } from './start-process.ts';
export { POD_CIDR, type PodNetworkOptions, findCniPlugins, podNetwork } from './pod-network.ts';
export { type InstanceCounts, ensureIdentities, instancesOf, isShared } from './identities.ts';
export { type NatsUse, checkNats, leaveNats } from './external-nats.ts';
export { freePort, freePorts } from './free-port.ts';
export { type NatsFolder, addNode, identitiesOf, natsFolder, takeIdentities } from './nats-folder.ts';
export { keepNatsCa, natsAccess, natsCaOf, natsRelay, parseNatsUrl, startNatsRelay } from './nats-relay.ts';
export type { ServerAddress } from './port-relay.ts';
export { NodeLauncher, type NodeLauncherOptions } from './node-launcher.ts';
export {
  clusterServices,
  everyService,
  hostProcess,
  nodeServices,
  optionalServices,
  servicesOf,
} from './node-services.ts';
export {
  type NodeSettings,
  identitiesFolder,
  nodeConfigFile,
  nodeSettingsSchema,
  readSettings,
  settingsFile,
  writeSettings,
} from './node-settings.ts';
export { isLoopback } from './server-url.ts';
export { takeDown } from './take-down.ts';
export { compileNatives } from './natives.ts';
export { nodeProgram, nodeProgramEnv } from './node-program.ts';
