import { type ResourceList, type RuntimeCondition, isExtendedResource } from '@kubus/contracts';
import { type ConditionInput, nodeConditions } from './conditions.ts';
import { type KnownPlugins, withPlugins } from './csi-plugins.ts';
import { type NodeImage, nodeImages } from './images.ts';
import type { NodeAddress, NodeObject, NodeStatus } from './node-object.ts';
import { type Reserved, allocatableOf, sameQuantity } from './resources.ts';

/** The properties of the machine. */
export interface MachineInfo {
  /** The name in Go: `amd64`, `arm64`. */
  readonly architecture: string;
  /** machine-id(5) */
  readonly machineId: string;
  /** The UUID of the firmware or the hypervisor; the machine id where they have none. */
  readonly systemUuid: string;
  /** Changes with each boot. */
  readonly bootId: string;
  readonly kernelVersion: string;
  /** os-release(5), `PRETTY_NAME` */
  readonly osImage: string;
  /** Bytes of swap; 0: none. */
  readonly swapBytes: number;
}

/** Everything from which a Node object's status is built. An undefined value is not known yet: the Node object keeps its value. */
export interface StatusInput extends ConditionInput {
  readonly machine: MachineInfo;
  /** The node's own version: `v1.36.2+...`. */
  readonly version: string;
  readonly capacity: ResourceList;
  readonly reserved: Reserved;
  /** Devices of plugins: all of them, and those that can be allocated to pods. */
  readonly devices: { readonly capacity: ResourceList; readonly allocatable: ResourceList };
  readonly addresses: readonly NodeAddress[] | undefined;
  /** Annotations that the node sets itself; undefined: the annotation must not exist. */
  readonly annotations: Readonly<Record<string, string | undefined>>;
  /** Port of the node's HTTPS API; undefined: it has none. */
  readonly port: number | undefined;
  /** The runtime's last reported condition. */
  readonly runtime: RuntimeCondition | undefined;
  readonly images: readonly NodeImage[] | undefined;
  /** nodeStatusMaxImages; -1: all. */
  readonly maxImages: number;
  readonly csi: KnownPlugins;
  /** Unique names of the volumes that must not be detached; undefined: not known yet. */
  readonly volumesInUse: readonly string[] | undefined;
  /** The features of the control plane that the node supports (KEP-5328). */
  readonly declaredFeatures: readonly string[];
}

/** A Kubernetes event about the node, recorded when the status is written. */
export interface StatusEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/**
 * The Node object in its current state, and the events since the given one was written (behaviour:node-object, Setter order).
 * Fields that the node does not set itself stay unchanged.
 */
export function withStatus(
  node: NodeObject,
  input: StatusInput,
): { readonly node: NodeObject; readonly events: readonly StatusEvent[] } {
  const { status } = node;
  const { name } = node.metadata;
  const { machine, port, images } = input;
  const { conditions, events } = nodeConditions(status.conditions ?? [], input);
  const rebooted = (status.nodeInfo?.bootID ?? '') !== '' && status.nodeInfo?.bootID !== machine.bootId;
  const written = withPlugins(
    {
      ...node,
      metadata: {
        ...node.metadata,
        labels: {
          ...node.metadata.labels,
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': machine.architecture,
        },
        ...annotationsOf(node, input),
      },
      status: {
        ...status,
        ...(input.addresses !== undefined && { addresses: [...input.addresses] }),
        ...resourcesOf(status, input),
        nodeInfo: { ...status.nodeInfo, ...nodeInfo(status, input) },
        ...(port !== undefined && { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
        ...(images !== undefined && { images: nodeImages(images, input.maxImages) }),
        ...runtimeFields(input.runtime),
        conditions: [...conditions],
        ...(input.volumesInUse !== undefined && { volumesInUse: [...input.volumesInUse] }),
        ...(input.declaredFeatures.length > 0 && { declaredFeatures: [...input.declaredFeatures] }),
      },
    },
    input.csi,
  );
  return {
    node: written,
    events: [
      ...(rebooted ? [rebootedEvent(name, machine.bootId)] : []),
      ...events.map((reason) => statusEvent(name, reason)),
    ],
  };
}

/** The event about a condition, or about whether the node is schedulable. */
export function statusEvent(node: string, reason: string): StatusEvent {
  return { type: 'Normal', reason, message: `Node ${node} status is now: ${reason}` };
}

function rebootedEvent(node: string, bootId: string): StatusEvent {
  const message = `Node ${node} has been rebooted, boot id: ${bootId}`;
  return { type: 'Warning', reason: 'Rebooted', message };
}

function annotationsOf({ metadata }: NodeObject, { annotations }: StatusInput) {
  const kept = Object.entries(metadata.annotations ?? {}).filter(([name]) => !(name in annotations));
  const own = Object.entries(annotations).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]));
  return { annotations: Object.fromEntries([...kept, ...own]) as Record<string, string> };
}

/** Resources that others advertise on the node are kept, such as extended resources that no plugin on the node serves. */
function resourcesOf(
  { capacity: before = {}, allocatable: allocatableBefore = {} }: NodeStatus,
  { capacity, devices, reserved }: StatusInput,
): { capacity: ResourceList; allocatable: ResourceList } {
  const all = asWritten(before, { ...before, ...capacity, ...devices.capacity });
  const allocatable = { ...allocatableOf(all, reserved), ...devices.allocatable };
  const kept = Object.entries(allocatableBefore).filter(([name]) => name in all || !isExtendedResource(name));
  const written = asWritten(allocatableBefore, { ...Object.fromEntries(kept), ...allocatable });
  return { capacity: all, allocatable: written };
}

/** Amounts that are equal to the previous ones keep their notation. */
function asWritten(before: ResourceList, now: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(now).map(([name, amount]) => [
      name,
      sameQuantity(before[name], amount) ? (before[name] ?? amount) : amount,
    ]),
  );
}

function nodeInfo({ nodeInfo: before }: NodeStatus, { machine, version, runtime }: StatusInput) {
  const { name = '', version: runtimeVersion = 'Unknown' } = runtime ?? {};
  return {
    machineID: machine.machineId,
    systemUUID: machine.systemUuid,
    bootID: machine.bootId,
    kernelVersion: machine.kernelVersion,
    osImage: machine.osImage,
    ...((runtime !== undefined || before === undefined) && {
      containerRuntimeVersion: `${name}://${runtimeVersion}`,
    }),
    kubeletVersion: version,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: machine.architecture,
    ...(machine.swapBytes > 0 && { swap: { capacity: machine.swapBytes } }),
  };
}

function runtimeFields(runtime: RuntimeCondition | undefined) {
  const { handlers, strictSupplementalGroups } = runtime ?? {};
  return {
    ...(handlers !== undefined && {
      runtimeHandlers: Object.entries(handlers)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, features]) => ({ name, features })),
    }),
    ...(strictSupplementalGroups !== undefined && { features: { supplementalGroupsPolicy: strictSupplementalGroups } }),
  };
}
