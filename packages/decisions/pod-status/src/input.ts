import type {
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  ResourceList,
  ResourceRequirements,
  RuntimePod,
} from '@kubus/contracts';
import type { ProbeResults } from '@kubus/pod-lifecycle';

/** Why a container that should be running is not: the error of the last attempt to start it. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** Why a pod has ended (deadline, eviction), was not admitted, or is disrupted. */
export interface StatusReason {
  readonly reason: string;
  readonly message: string;
}

/** What the runtime and the node report about one container besides its state. Only known values are set. */
export type ContainerDetails = Partial<Pick<ContainerStatus, 'user' | 'stopSignal' | 'resources'>> & {
  /** Its termination message file or the end of its log; see {@link terminationMessage}. */
  readonly terminationMessage?: string | undefined;
  /** Requests that are allocated; undefined: those of the spec. */
  readonly allocated?: ResourceList | undefined;
  /** Volume name to the image that is mounted there. */
  readonly imageVolumes?: ReadonlyMap<string, string> | undefined;
};

/** A condition of the in-place resize, as determined by the allocation (behaviour:resize). */
export type ResizeCondition = Pick<PodCondition, 'status' | 'reason' | 'message'> & {
  readonly type: 'PodResizePending' | 'PodResizeInProgress';
  /** `metadata.generation` of the pod that requested it. */
  readonly generation?: number | undefined;
};

export interface PodStatusInput {
  readonly pod: Pod;
  readonly runtime: RuntimePod | undefined;
  /** Container name to the reason that prevents it from starting. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** The previous status. */
  readonly previous: PodStatus | undefined;
  /** The pod is being ended. */
  readonly ending: boolean;
  /** Name of the runtime, for container IDs: `containerd`. */
  readonly runtimeName: string;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  /** The node has no API server. Default: false. */
  readonly standAlone?: boolean | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly probes?: ProbeResults | undefined;
  /** By container id. */
  readonly details?: ReadonlyMap<string, ContainerDetails> | undefined;
  /** By container name: the devices that are allocated to it, and their health. Undefined: as last reported. */
  readonly devices?: ReadonlyMap<string, ContainerStatus['allocatedResourcesStatus']> | undefined;
  /** The pod has failed for a reason outside its containers: its deadline, or an eviction. */
  readonly failure?: StatusReason | undefined;
  /** The pod is being ended by a disruption; the condition DisruptionTarget. */
  readonly disruption?: StatusReason | undefined;
  /** The current resize conditions. */
  readonly resize?: readonly ResizeCondition[] | undefined;
  /** Resources of the pod as a whole where they differ from those of the spec. */
  readonly podResources?:
    { readonly allocated?: ResourceList | undefined; readonly actual?: ResourceRequirements | undefined } | undefined;
  /** The runtime supports recursive read-only mounts. */
  readonly recursiveReadOnlyMounts?: boolean | undefined;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers?: boolean | undefined;
}
