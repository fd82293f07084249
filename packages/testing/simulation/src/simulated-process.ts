import { type Bus, type BusOptions, DirectDelivery, type DirectDeliveryOptions } from '@kubus/bus';
import { type ClusterNode, serviceContracts } from '@kubus/contracts';
import type { EndedPods, LedgerFiles } from '@kubus/node-agent/devices';
import type { Clock, Logger } from '@kubus/ports';
import { ProcessGuard } from './process-guard.ts';
import type { Scheduler } from './scheduler.ts';
import type { OwnThings } from './simulated-machine.ts';

export const simulatedServices = [
  'config-sources',
  'sync-loop',
  'pod-workers',
  'cri-bridge',
  'cni-bridge',
  'prober',
  'volume-manager',
  'node-agent',
] as const;
/** Those that only a node with an API server has. */
export const clusterServices = ['status-manager', 'object-cache'] as const;
export type SimulatedService = (typeof simulatedServices)[number] | (typeof clusterServices)[number];

/** The name of the simulated node. */
export const NODE = 'node0';

/** The Node object, as node-agent publishes it. */
export const CLUSTER_NODE: ClusterNode = {
  ...{ name: NODE, uid: 'node-uid', resourceVersion: '1', labels: {}, annotations: {}, taints: [] },
  ...{ unschedulable: false, podCIDRs: [], addresses: [], capacity: {}, allocatable: {} },
  ...{ volumesInUse: [], volumesAttached: [], deleting: false },
};

/** Parts of the bus and of services that a test removes, to check that the simulation detects it. */
export interface Mutations {
  readonly makeBus?: (options: BusOptions) => Bus;
  readonly makeDirect?: (options: DirectDeliveryOptions) => DirectDelivery;
  /** The files of the ledger of CPUs and memory. */
  readonly makeLedger?: (files: LedgerFiles) => LedgerFiles;
  /** Which pods need none of it any more. */
  readonly makeEnded?: (bus: Bus, clock: Clock) => EndedPods;
  /** What pod-workers know of the things that containers can have for themselves. */
  readonly makeOwnThings?: (things: OwnThings) => OwnThings;
  /** Writes of the API server to its file. */
  readonly makeApiFile?: (scheduler: Scheduler) => (write: () => void) => void;
}

/** The services whose first instances share a process, for each such process. */
export type Placement = readonly (readonly SimulatedService[])[];

/** One run of a process. */
export interface SimulatedProcess {
  readonly guard: ProcessGuard;
  /** Of a process with several services. */
  readonly direct: DirectDelivery | undefined;
  readonly instances: string[];
}

/** A process for one service, or with its services. */
export function startProcess(
  group: readonly SimulatedService[],
  options: { scheduler: Scheduler; logger: Logger; mutations: Mutations; inCluster: boolean },
): SimulatedProcess {
  const { scheduler, logger, mutations, inCluster } = options;
  const guard = new ProcessGuard();
  if (group.length === 1) return { guard, direct: undefined, instances: [] };
  const all: readonly SimulatedService[] = inCluster ? [...simulatedServices, ...clusterServices] : simulatedServices;
  const delivery: DirectDeliveryOptions = {
    ...{ node: NODE, services: group, slot: 0, contracts: serviceContracts, logger },
    others: all.filter((one) => !group.includes(one)),
    clock: guard.clock(scheduler),
    soon: (step) => void scheduler.after(0, () => guard.run(step)),
  };
  const direct = mutations.makeDirect?.(delivery) ?? new DirectDelivery(delivery);
  // The launcher of the simulation publishes nothing about the prober, which always has one instance.
  direct.shared('prober', ['prober-0']);
  return { guard, direct, instances: [] };
}
