import type { Bus, FactOwner } from '@kubus/bus';
import type { ContainerResourceSettings, DnsSettings, SeccompSettings } from '@kubus/container-config';
import type {
  NetworkCondition,
  PodProbes,
  PodStatusReport,
  PodVolumes,
  PodWorkerReport,
  ResourceList,
  RuntimeCondition,
} from '@kubus/contracts';
import type { ExclusivePolicies } from '@kubus/exclusive';
import type { BackOffLimits, DeadContainers } from '@kubus/pod-lifecycle';
import type { Clock, Ids, Logger } from '@kubus/ports';
import type { NodeEvents, PodEvents, SharedRecords } from '@kubus/service-kit';
import type { KernelMemory } from '@kubus/cgroup';
import type { PastRuns } from '../containers/past-runs.ts';
import type { DeviceFacts } from '../devices/device-facts.ts';
import type { ObjectFacts } from '../objects/object-facts.ts';
import type { HookRequests, PodCgroups, PodFiles } from '../ports.ts';
import type { WorkerMetrics } from '../metrics/worker-metrics.ts';

/** How the node enforces CPU and memory of containers. */
export type Enforcement = Pick<
  ContainerResourceSettings,
  'cpuQuota' | 'cpuPeriodUs' | 'singleProcessOomKill' | 'swap' | 'memoryQos'
>;

/** What of the node containers can have for themselves, and how. */
export interface ExclusiveCpus extends ExclusivePolicies {
  /** Containers with CPUs of their own have no CPU quota. */
  readonly withoutQuota: boolean;
  /** How soon setting the CPUs of a running container is tried again, in milliseconds. */
  readonly reconcileMs: number;
}

/** What every pod's worker shares. */
export interface WorkerDeps {
  readonly bus: Bus;
  /** Events of pods, for their users. */
  readonly events: PodEvents;
  /** Events of the node, for its operators. */
  readonly nodeEvents: NodeEvents;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly records: SharedRecords;
  readonly files: PodFiles;
  readonly cgroups: PodCgroups;
  readonly metrics: WorkerMetrics;
  readonly hooks: HookRequests;
  readonly states: FactOwner<PodWorkerReport>;
  readonly statuses: FactOwner<PodStatusReport>;
  /** The newest facts about runtime and network; undefined before the first one was received. */
  readonly runtimeCondition: () => RuntimeCondition | undefined;
  readonly networkCondition: () => NetworkCondition | undefined;
  /** The newest fact of the prober about a pod. */
  readonly probesOf: (uid: string) => PodProbes | undefined;
  /** The newest fact of the volume manager about a pod; undefined: the pod has no volumes, if {@link volumesKnown}. */
  readonly volumesOf: (uid: string) => PodVolumes | undefined;
  /** The volume manager has published the volumes of all pods. */
  readonly volumesKnown: () => boolean;
  /** What is known of the API server's objects. */
  readonly objects: ObjectFacts;
  readonly devices: DeviceFacts;
  /** What of the node containers can have for themselves. Omitted: nothing. */
  readonly exclusive?: ExclusiveCpus | undefined;
  /** The CPUs of containers without CPUs of their own, as a list such as `0-3,8`; undefined: all of the machine. */
  readonly cpuPool: () => string | undefined;
  /** The epoch of the cri-bridge whose complete set of pods does not contain this one; undefined when there may be something of it. */
  readonly absentAt: (uid: string) => number | undefined;
  /** Returns the number of the next fencing token, see `FencingTokenNumbers`. */
  readonly nextToken: (fencedOff: boolean) => number;
  /** The node's current addresses. */
  readonly nodeIps: () => readonly string[];
  /** The node has no API server. */
  readonly standAlone: boolean;
  readonly dns: Pick<DnsSettings, 'clusterDns' | 'clusterDomain'>;
  readonly seccomp?: SeccompSettings | undefined;
  /** Bytes. */
  readonly memoryCapacity: bigint;
  /** Omitted: cgroup v1 without huge pages, which does not account for swap. */
  readonly kernel?: KernelMemory | undefined;
  /** How CPU and memory are enforced. Omitted: as the reference does by default. */
  readonly enforcement?: Enforcement | undefined;
  /** The node's current resources for pods: the limits that containers without their own see. */
  readonly allocatable: () => ResourceList;
  readonly crashLoop: BackOffLimits;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers: boolean;
  /** Of static pods that have been removed. */
  readonly pastRuns: PastRuns;
  /** Which ended containers of a pod stay now. */
  readonly deadContainers: (keeps: DeadContainers['keeps']) => DeadContainers;
  /** The node is short of disk space, so that pods that have ended keep nothing. */
  readonly removesEnded: () => boolean;
  /** Milliseconds between two syncs of a pod that is in its desired state. */
  readonly syncEveryMs: number;
}
