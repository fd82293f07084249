import type { AnyCommand, AnyDeclaration, ServiceName } from './declare.ts';
import { clusterNode } from './messages/cluster-node.ts';
import { configuredSources, desiredPods, manifest } from './messages/config.ts';
import { deviceAllocation, deviceResource } from './messages/device.ts';
import { clearFault, disturbService, faultRule, faulted, injectFault, serviceFaulted } from './messages/fault.ts';
import { runtimeImages, runtimeNodeEvent } from './messages/image.ts';
import { networkCondition, pluginRun } from './messages/network.ts';
import { processEvent, restartService, runElsewhere, scaleService, serviceShare } from './messages/node.ts';
import { cachedObject, namespaceServices, runtimeClass, trustBundle } from './messages/object.ts';
import { criCommands, runtimeCondition, runtimeHint, runtimePod } from './messages/runtime.ts';
import { instanceJournal, serviceInstance } from './messages/service.ts';
import { csiDriver, volumeAttachment, volumeClaim } from './messages/storage.ts';
import { streamEvent } from './messages/stream.ts';
import { csiPlugin, volumesInUse } from './messages/volume.ts';

/** A message that may have no cause on the bus, for what led to it happened elsewhere. */
export interface PossibleRoot {
  readonly type: AnyDeclaration;
  /** Fields that the payload then has; left out where every message of the type may be one. */
  readonly where?: Readonly<Record<string, string>>;
  /** What outside of the bus leads to it. */
  readonly because: string;
}

/**
 * Every message that may name no cause. Besides these only the marks of complete sets may: they tell of a set, not of a
 * message. Whatever else names none has lost it.
 */
export const possibleRoots: readonly PossibleRoot[] = [
  { type: serviceInstance, because: 'a process has started or a connection was made anew' },
  { type: processEvent, because: 'the launcher has started a process, or one has ended' },
  { type: serviceShare, because: 'the launcher runs another set of instances' },
  ...[restartService, runElsewhere, scaleService].map((type) => ({ type, because: 'somebody typed it' })),
  { type: manifest, because: 'a file of the manifest folder was read' },
  { type: configuredSources, because: 'the configuration of the node' },
  { type: desiredPods.http, because: 'a manifest URL was read' },
  { type: desiredPods.api, because: 'a watch of the API server told of it' },
  ...[
    clusterNode,
    cachedObject,
    namespaceServices,
    runtimeClass,
    trustBundle,
    volumeClaim,
    csiDriver,
    volumeAttachment,
  ].map((type) => ({ type, because: 'a watch of the API server told of it' })),
  { type: runtimeCondition, because: 'the runtime was asked how it is, on a timer, or the connection to it changed' },
  { type: runtimeImages, because: 'the runtime’s list of images, read on a timer' },
  { type: runtimeHint, because: 'the runtime told of a change' },
  { type: runtimePod, because: 'a list of all that the runtime has showed a change of which no event had told' },
  { type: runtimeNodeEvent, because: 'the collection of images runs on a timer' },
  {
    type: networkCondition,
    because: 'a file of the network’s configuration was read, or its plugins’ STATUS on a timer',
  },
  { type: pluginRun, where: { command: 'STATUS' }, because: 'asked on a timer' },
  { type: pluginRun, where: { command: 'GC' }, because: 'asked on a timer' },
  {
    type: pluginRun,
    where: { network: 'loopback' },
    because: 'the runtime runs its own loopback and does not say why',
  },
  { type: csiPlugin, because: 'a CSI plugin has registered on its socket' },
  { type: volumesInUse, because: 'the volumes that an earlier life has left are found on disk' },
  { type: deviceResource, because: 'a device plugin has registered or told of its devices' },
  { type: deviceAllocation, because: 'the record of an earlier life' },
  { type: instanceJournal, because: 'what came in through the ports of an instance' },
  ...[injectFault, clearFault, disturbService].map((type) => ({
    type,
    because: 'somebody disturbs the node on purpose',
  })),
  ...[faultRule, faulted, serviceFaulted].map((type) => ({ type, because: 'what is disturbed on purpose is told' })),
  { type: streamEvent, because: 'a request to the node’s API' },
  ...[
    ...(['Exec', 'Attach', 'PortForward', 'ExecSync', 'CheckpointContainer'] as const),
    ...(['ListContainerStats', 'ImageFsInfo'] as const),
  ].map((method) => ({ type: criCommands[method], because: 'a request to the node’s API' })),
];

/** A cause that reaches a service not as a message but with something that passes by the bus. */
export interface CarriedCause {
  readonly type: AnyCommand;
  readonly to: ServiceName;
  /** What carries it. */
  readonly by: string;
}

export const carriedCauses: readonly CarriedCause[] = [
  {
    type: criCommands.RunPodSandbox,
    to: 'cni-bridge',
    by: 'an annotation of the sandbox, which the runtime hands to the network’s plugins',
  },
];
