import type { Bus, FactOwner } from '@kubus/bus';
import type { DnsSettings } from '@kubus/container-config';
import type {
  NetworkCondition,
  PodProbes,
  PodStatusReport,
  PodVolumes,
  PodWorkerReport,
  ResourceList,
  RuntimeCondition,
} from '@kubus/contracts';
import type { BackOffLimits } from '@kubus/pod-lifecycle';
import type { Clock, Ids, Logger } from '@kubus/ports';
import type { NodeEvents, PodEvents, SharedRecords } from '@kubus/service-kit';
import type { KernelMemory } from '@kubus/cgroup';
import type { DeviceFacts } from './device-facts.ts';
import type { ObjectFacts } from './object-facts.ts';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/** What every pod's worker shares. */
export interface WorkerDeps {
  readonly bus: Bus;
  /** For what the pods' users are to hear of. */
  readonly events: PodEvents;
  /** For what the node's operators are to hear of. */
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
  /** The newest facts about runtime and network; undefined before the first one has come. */
  readonly runtime: () => RuntimeCondition | undefined;
  readonly network: () => NetworkCondition | undefined;
  /** What the prober and the volume manager said last of a pod. */
  readonly probes: (uid: string) => PodProbes | undefined;
  readonly volumes: (uid: string) => PodVolumes | undefined;
  /** Of a pod that the volume manager does not speak of there are no volumes. */
  readonly volumesKnown: () => boolean;
  /** What is known of the API server's objects. */
  readonly objects: ObjectFacts;
  readonly devices: DeviceFacts;
  /** See `PodRuntime`. */
  readonly nextHold: (fencedOff: boolean) => number;
  readonly nodeIps: readonly string[];
  readonly dns: Pick<DnsSettings, 'clusterDns' | 'clusterDomain'>;
  /** Bytes. */
  readonly memoryCapacity: bigint;
  /** Left out: cgroup v1 without huge pages, which does not account for swap. */
  readonly kernel?: KernelMemory | undefined;
  /** The node's resources for pods: the limits that containers without one are told. */
  readonly allocatable: ResourceList;
  readonly crashLoop: BackOffLimits;
  /** The feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers: boolean;
  /** Milliseconds between two looks at a pod that is as it should be. */
  readonly syncEveryMs: number;
}
