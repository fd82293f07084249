import { type Bus, type BusOptions, DirectDelivery, type DirectDeliveryOptions } from '@kubus/bus';
import { serviceContracts } from '@kubus/contracts';
import type { EndedPods, LedgerFiles } from '@kubus/node-agent/devices';
import type { Logger } from '@kubus/ports';
import { ProcessGuard } from './process-guard.ts';
import type { Scheduler } from './scheduler.ts';

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
export type SimulatedService = (typeof simulatedServices)[number];

/** The name of the simulated node. */
export const NODE = 'node0';

/** Parts of the bus and of services that a test removes, to check that the simulation detects it. */
export interface Mutations {
  readonly makeBus?: (options: BusOptions) => Bus;
  readonly makeDirect?: (options: DirectDeliveryOptions) => DirectDelivery;
  /** The files of the ledger of CPUs and memory. */
  readonly makeLedger?: (files: LedgerFiles) => LedgerFiles;
  /** Which pods need none of it any more. */
  readonly makeEnded?: (bus: Bus) => EndedPods;
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
  { scheduler, logger, mutations }: { scheduler: Scheduler; logger: Logger; mutations: Mutations },
): SimulatedProcess {
  const guard = new ProcessGuard();
  if (group.length === 1) return { guard, direct: undefined, instances: [] };
  const options: DirectDeliveryOptions = {
    ...{ node: NODE, services: group, slot: 0, contracts: serviceContracts, logger },
    others: simulatedServices.filter((one) => !group.includes(one)),
    clock: guard.clock(scheduler),
    soon: (step) => void scheduler.after(0, () => guard.run(step)),
  };
  const direct = mutations.makeDirect?.(options) ?? new DirectDelivery(options);
  // The launcher of the simulation publishes nothing about the prober, which always has one instance.
  direct.shared('prober', ['prober-0']);
  return { guard, direct, instances: [] };
}
