export { removeCgroupRoot } from './runtime/cgroup-root.ts';
export { type Command, runCommand } from './processes/command.ts';
export { startContainerd } from './runtime/containerd.ts';
export { containerdConfig, runtimeHandler } from './runtime/containerd-config.ts';
export { type ContainerdPrograms, findContainerd } from './runtime/containerd-programs.ts';
export { agentCpu, readCpuTimes } from './processes/cpu-times.ts';
export { type HubChoice, checkRelayed, keepHub, readHub } from './nats/hub.ts';
export { podNamespaces, removeLostNamespaces } from './runtime/lost-namespaces.ts';
export { type MachineSnapshot, diffSnapshots, takeSnapshot, watchedFolders } from './node/machine-snapshot.ts';
export { containerConfig } from './containers/container-config.ts';
export { containerDir } from './containers/container-dir.ts';
export { checkRuntimeUse } from './containers/runtime-use.ts';
export { containerServices } from './containers/container-services.ts';
export { checkKubeconfig } from './network/api-relay.ts';
export {
  API_SERVICE_IP,
  DNS_SERVICE_IP,
  createNetworkNamespace,
  deleteNetworkNamespace,
  inNetworkNamespace,
  isNetworkNamespace,
  keepNetworkNamespace,
} from './network/network-namespace.ts';
export { bridgeOf, bridgesOfNodes, checkMachineNetwork, joinMachineNetwork } from './network/machine-network.ts';
export { kernelDefaults } from './kubelet/kernel-defaults.ts';
export { kubeletDir } from './kubelet/kubelet-dir.ts';
export {
  type NodeDir,
  adminKubeconfig,
  apiSocket,
  createNodeDir,
  nodeDir,
  observatorySocket,
} from './node/node-dir.ts';
export { nodeKubeconfig } from './network/api-relay.ts';
export {
  type ProcessRecord,
  endProcesses,
  findProcesses,
  isRunning,
  nodeMark,
  readRecords,
  recordOf,
  writeRecord,
} from './processes/process-record.ts';
export { descriptorsText, withoutDescriptors } from './processes/descriptors.ts';
export { cleanStopped } from './node/clean-stopped.ts';
export { type ListedNode, listNodes, nodeNames } from './node/list-nodes.ts';
export { hasKeptApi, takeKeptApi } from './node/kept-api.ts';
export { removeNode } from './node/remove-node.ts';
export { shimSocket } from './runtime/runtime-removal.ts';
export { type StartedProcess, startProcess } from './processes/start-process.ts';
export { inTransientScope } from './processes/transient-scope.ts';
export { parsePublishedPort, parseRegistry } from './network/published-ports.ts';
export { checkWayOut, wayOut } from './network/way-out.ts';
export { POD_CIDR, findCniPlugins, podNetwork } from './network/pod-network.ts';
export { type InstanceCounts, instancesOf, isShared } from './nats/identities.ts';
export { checkNats } from './nats/external-nats.ts';
export { freePort, freePorts } from './network/free-port.ts';
export { addNode, identitiesOf, natsFolder, takeIdentities } from './nats/nats-folder.ts';
export { keepNatsCa, natsAccess, parseNatsUrl } from './nats/nats-relay.ts';
export { type NodeShape, everyService, processOf, servicesOf } from './node/node-services.ts';
export { readShape } from './node/node-shape.ts';
export { readPlacement } from './node/placement.ts';
export { readPrivateConfig } from './node/private-config.ts';
export {
  type NodeSettings,
  nodeNetworks,
  identitiesFolder,
  nodeConfigFile,
  nodeSettingsSchema,
  readSettings,
  writeSettings,
} from './node/node-settings.ts';
export { isLoopback } from './nats/server-url.ts';
export { takeDown } from './node/take-down.ts';
export { compileNatives } from './node/natives.ts';
export { nodeProgram, nodeProgramEnv } from './processes/node-program.ts';
