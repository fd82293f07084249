import type { Bus, FactOwner } from '@kubus/bus';
import type { NetworkCondition, PodStatusReport, PodWorkerReport, RuntimeCondition } from '@kubus/contracts';
import type { Clock, Ids, Logger, RecordStore } from '@kubus/ports';
import type { PodCgroups, PodFiles } from './ports.ts';

/** What every pod's worker shares. */
export interface WorkerDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly files: PodFiles;
  readonly cgroups: PodCgroups;
  readonly states: FactOwner<PodWorkerReport>;
  readonly statuses: FactOwner<PodStatusReport>;
  /** The newest facts about runtime and network; undefined before the first one has come. */
  readonly runtime: () => RuntimeCondition | undefined;
  readonly network: () => NetworkCondition | undefined;
  /** See `PodRuntime`. */
  readonly nextHold: (fencedOff: boolean) => number;
  readonly nodeIps: readonly string[];
  /** Bytes. */
  readonly memoryCapacity: bigint;
  /** Milliseconds between two looks at a pod that is as it should be. */
  readonly syncEveryMs: number;
}
