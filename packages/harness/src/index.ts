export { ApiSource } from './api-source.ts';
export {
  type CsiBooks,
  type CsiCall,
  type CsiDisturbance,
  type CsiDriverSetup,
  type CsiMethod,
  TestCsiDriver,
} from './csi-driver.ts';
export { ContainerNode, type SeenPod, composeServices } from './docker/container-node.ts';
export { DockerEngine } from './docker/docker-engine.ts';
export { type DockerPrograms, findDocker } from './docker/docker-programs.ts';
export { makeNodeImages, nodeImages } from './docker/node-images.ts';
export { HarnessError } from './errors.ts';
export { EventLog, type LabelledRuns } from './event-log.ts';
export { type Outcome, type RunningCommand, checkout, kubusProgram, startCommand } from './kubus-command.ts';
export { expectEmpty, knownContainers, takeNodeSnapshot } from './leaks.ts';
export type { NodeMessage, NodeMessages } from './node-messages.ts';
export { type NodeWatch, type WatchedPod, isReady } from './node-watch.ts';
export { ObjectCache } from './object-cache.ts';
export { poll } from './poll.ts';
export { type ContainerRuns, type RuntimeEvent, containerOf, containerRuns, parseEvents } from './runtime-events.ts';
export { askNode } from './owners-api.ts';
export { type ToldEvent, eventRecord, runtimeRecord, scopeOf, statusRecord } from './pod-record.ts';
export { type GoldenRecord, type RecordException, recordDifferences } from './record-diff.ts';
export { SCRUBBED_NODE_IP } from './record-scrub.ts';
export { type Scenario, readScenarios } from './scenario.ts';
export { type ServicePlace, takePlace } from './service-place.ts';
export { takeSlot } from './take-slot.ts';
export { testCache, testImages } from './test-cache.ts';
export { TestCluster } from './test-cluster.ts';
export { makeTestFolder, removeTestFolder, sweepTestFolders, testNode } from './test-folder.ts';
export { NATS_PORT, type NodeOptions, type TestNode, nodeEnvironment, runKubus, startNode } from './test-node.ts';
export { type RegistryPlace, TestRegistry, registryLogin } from './test-registry.ts';
export { type RuntimeOptions, type TestRuntime, startRuntime } from './test-runtime.ts';
export { Tunnel } from './tunnel.ts';
export {
  type DeviceCall,
  type DeviceDisturbance,
  type DevicePluginSetup,
  type TestDevice,
  TestDevicePlugin,
} from './device-plugin.ts';
