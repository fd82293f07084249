import type { AnyCommand, AnyDeclaration, ServiceName } from './declare.ts';
import { clusterNode, nodePressure } from './messages/cluster-node.ts';
import { configuredSources, desiredPods, manifest } from './messages/config.ts';
import { claimUse } from './messages/claim.ts';
import { cpuPool, deviceAllocation, deviceResource } from './messages/device.ts';
import { clearFault, disturbService, faultRule, faulted, injectFault, serviceFaulted } from './messages/fault.ts';
import { runtimeImages, runtimeNodeEvent } from './messages/image.ts';
import { networkCondition, pluginRun } from './messages/network.ts';
import {
  launcherNodeEvent,
  processEvent,
  restartService,
  runElsewhere,
  scaleService,
  serviceShare,
  stuckService,
} from './messages/node.ts';
import { cachedObject, namespaceServices, runtimeClass, trustBundle } from './messages/object.ts';
import { readPressure } from './messages/pressure.ts';
import { criCommands, runtimeCondition, runtimeHint, runtimePod } from './messages/runtime.ts';
import { instanceJournal, serviceInstance } from './messages/service.ts';
import { csiDriver, volumeAttachment, volumeClaim } from './messages/storage.ts';
import { streamEvent } from './messages/stream.ts';
import { csiPlugin, volumesInUse } from './messages/volume.ts';
import { workerNodeEvent } from './messages/worker.ts';
import { nodeTopology } from './messages/topology.ts';

/** A message that may have no cause on the bus, because its cause is outside the bus. */
export interface PossibleRoot {
  readonly type: AnyDeclaration;
  /** Values that these payload fields then have. Default: every message of the type may be without a cause. */
  readonly where?: Readonly<Record<string, string>>;
  /** The cause outside the bus. */
  readonly because: string;
}

/**
 * Every message that may name no cause. Completion marks may do so too, because they report a set and not a single
 * message. Any other message that names no cause has lost it.
 */
export const possibleRoots: readonly PossibleRoot[] = [
  { type: serviceInstance, because: 'a process has started or has reconnected' },
  { type: processEvent, because: 'the launcher has started a process, or one has ended' },
  ...[stuckService, launcherNodeEvent].map((type) => ({ type, because: 'a service no longer answered the launcher' })),
  { type: serviceShare, because: 'the launcher runs a different set of instances' },
  ...[restartService, runElsewhere, scaleService, readPressure].map((type) => ({ type, because: 'a user typed it' })),
  { type: manifest, because: 'a file of the manifest folder was read' },
  { type: configuredSources, because: 'the configuration of the node' },
  { type: desiredPods.http, because: 'a manifest URL was read' },
  { type: desiredPods.api, because: 'a watch of the API server reported it' },
  ...[
    clusterNode,
    cachedObject,
    namespaceServices,
    runtimeClass,
    trustBundle,
    volumeClaim,
    csiDriver,
    volumeAttachment,
  ].map((type) => ({ type, because: 'a watch of the API server reported it' })),
  {
    type: runtimeCondition,
    because: 'the runtime’s status was read on a timer, or the connection to the runtime changed',
  },
  { type: runtimeImages, because: 'the runtime’s list of images, read on a timer' },
  { type: runtimeHint, because: 'the runtime reported a change' },
  { type: runtimePod, because: 'a relist found a change that no runtime event had reported' },
  { type: runtimeNodeEvent, because: 'image garbage collection runs on a timer' },
  ...[
    ['NodeAllocatableEnforced', 'the limits above the pods are written on a timer'],
    ['FailedNodeAllocatableEnforcement', 'the limits above the pods are written on a timer'],
    ['ContainerGCFailed', 'files of removed containers are looked for on a timer'],
    ['CgroupV1', 'the machine has cgroup v1'],
  ].map(([reason = '', because = '']) => ({ type: workerNodeEvent, where: { reason }, because })),
  {
    type: networkCondition,
    because: 'a file of the network’s configuration was read, or the STATUS of its plugins was read on a timer',
  },
  { type: pluginRun, where: { command: 'STATUS' }, because: 'runs on a timer' },
  { type: pluginRun, where: { command: 'GC' }, because: 'runs on a timer' },
  {
    type: pluginRun,
    where: { network: 'loopback' },
    because: 'the runtime runs the loopback plugin itself and passes no cause',
  },
  { type: csiPlugin, because: 'a CSI plugin has registered on its socket' },
  { type: volumesInUse, because: 'volumes left by an earlier process were found on disk' },
  { type: nodePressure, because: 'what the node has left was read on a timer' },
  { type: deviceResource, because: 'a device plugin has registered or reported its devices' },
  { type: deviceAllocation, because: 'read from the record of an earlier process' },
  {
    type: claimUse,
    because: 'read from the checkpoint of an earlier process, or a pod that ended unnoticed no longer uses its claims',
  },
  { type: cpuPool, because: 'read from the checkpoint of the CPU manager' },
  { type: nodeTopology, because: 'read from the machine, or from the checkpoints of its managers' },
  { type: instanceJournal, because: 'what came in through the ports of an instance' },
  ...[injectFault, clearFault, disturbService].map((type) => ({
    type,
    because: 'a user injects a fault',
  })),
  ...[faultRule, faulted, serviceFaulted].map((type) => ({ type, because: 'injected faults are reported' })),
  { type: streamEvent, because: 'a request to the node’s API' },
  ...(['Exec', 'Attach', 'PortForward', 'CheckpointContainer'] as const).map((method) => ({
    type: criCommands[method],
    because: 'a request to the node’s API',
  })),
  ...(['ListContainerStats', 'ImageFsInfo'] as const).map((method) => ({
    type: criCommands[method],
    because: 'a request to the node’s API, or what the node has left was read on a timer',
  })),
];

/** A cause that reaches a service not as a message but with something that bypasses the bus. */
export interface CarriedCause {
  readonly type: AnyCommand;
  readonly to: ServiceName;
  /** The message that carries it. */
  readonly by: string;
}

export const carriedCauses: readonly CarriedCause[] = [
  {
    type: criCommands.RunPodSandbox,
    to: 'cni-bridge',
    by: 'an annotation of the sandbox, which the runtime hands to the network’s plugins',
  },
];
