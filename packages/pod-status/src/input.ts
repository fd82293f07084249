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

/** Why a container that should run does not: what the last attempt to start it ran into. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** Why a pod is over (deadline, eviction), why it was not taken, or why it is disrupted. */
export interface StatusReason {
  readonly reason: string;
  readonly message: string;
}

/** What the runtime and the node tell of one container beside its state. Only what is known is set. */
export type ContainerDetails = Partial<Pick<ContainerStatus, 'user' | 'stopSignal' | 'resources'>> & {
  /** Its termination message file or the end of its log; see {@link terminationMessage}. */
  readonly terminationMessage?: string | undefined;
  /** Requests that the node has granted; left out: those of the spec. */
  readonly allocated?: ResourceList | undefined;
  /** Volume name to the image that is mounted there. */
  readonly imageVolumes?: ReadonlyMap<string, string> | undefined;
};

/** A condition of the in-place resize, as the allocation decides it (kubelet behaviour 1.18). */
export type ResizeCondition = Pick<PodCondition, 'status' | 'reason' | 'message'> & {
  readonly type: 'PodResizePending' | 'PodResizeInProgress';
  /** `metadata.generation` of the pod that asked for it. */
  readonly generation?: number | undefined;
};

export interface PodStatusInput {
  readonly pod: Pod;
  readonly runtime: RuntimePod | undefined;
  /** Container name to what keeps it from starting. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** The status made before this one. */
  readonly previous: PodStatus | undefined;
  /** The pod is being ended. */
  readonly ending: boolean;
  /** Name of the runtime, for container IDs: `containerd`. */
  readonly runtimeName: string;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly probes?: ProbeResults | undefined;
  /** By container id. */
  readonly details?: ReadonlyMap<string, ContainerDetails> | undefined;
  /** By container name: the devices that it has been given, and how they are. Left out: as they were told last. */
  readonly devices?: ReadonlyMap<string, ContainerStatus['allocatedResourcesStatus']> | undefined;
  /** The pod has failed for a reason outside of its containers: its deadline, or an eviction. */
  readonly failure?: StatusReason | undefined;
  /** The pod is ended because of something that is not its fault; the condition DisruptionTarget. */
  readonly disruption?: StatusReason | undefined;
  /** The resize conditions that hold now. */
  readonly resize?: readonly ResizeCondition[] | undefined;
  /** Resources of the pod as a whole where they are not those of the spec. */
  readonly podResources?:
    { readonly allocated?: ResourceList | undefined; readonly actual?: ResourceRequirements | undefined } | undefined;
  /** The runtime can make mounts read-only all the way down. */
  readonly recursiveReadOnlyMounts?: boolean | undefined;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers?: boolean | undefined;
}
