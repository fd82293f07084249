import type { Bus } from '@kubus/bus';
import { type NodeEvent, criCommands } from '@kubus/contracts';
import { type Core, type Shape, type StopCall, asyncRecords } from '@kubus/journal';
import type { RunningLog } from './logs/log-rotation.ts';
import { PodWorkers, type PodWorkersOptions } from './pod-workers.ts';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';

type PodWorkersInputs = Pick<
  PodWorkersOptions,
  | 'share'
  | 'nodeIps'
  | 'dns'
  | 'seccomp'
  | 'memoryCapacity'
  | 'kernel'
  | 'enforcement'
  | 'exclusive'
  | 'allocatable'
  | 'crashLoop'
  | 'deadContainers'
  | 'syncEveryMs'
  | 'eventRate'
>;

/** Further epochs of the instance, see `Slot`. */
interface Epochs {
  next(): number;
}

type PodWorkersOutside = Pick<PodWorkersOptions, 'records' | 'files' | 'cgroups' | 'hooks'> & { epochs: Epochs };

const files: Shape<PodFiles> = {
  makeFolder: 'promise',
  makeLogFolder: 'promise',
  logFolder: 'at once',
  linkLog: 'promise',
  writeHostsFile: 'promise',
  readResolvConf: 'promise',
  logIndexes: 'promise',
  readLogEnd: 'promise',
  makeTerminationLog: 'promise',
  readTerminationLog: 'promise',
  removeRun: 'promise',
  removeLogs: 'promise',
  remove: 'promise',
};
const cgroups: Shape<PodCgroups> = {
  parent: 'at once',
  ensure: 'promise',
  memoryUsage: 'promise',
  remove: 'promise',
};
const hooks: Shape<HookRequests> = { get: 'promise' };

/** The workers, and the bus for commands on their behalf. */
export interface RunningWorkers {
  readonly workers: PodWorkers;
  readonly bus: Bus;
}

/** An event of the node. */
export type NodeEventText = Pick<NodeEvent, 'type' | 'reason' | 'message'>;

/** The calls that the rest of the service makes to the core while it runs. */
interface PodWorkersCalls extends StopCall {
  /** Makes the runtime close a container's log, and continue in a new file of the same name. */
  reopenLog(log: RunningLog): Promise<void>;
  /** Records an event of the node. */
  nodeEvent(event: NodeEventText): void;
  /** Leaves every pod to its next worker. */
  stop(): Promise<void>;
}

/**
 * The pods' workers, without the node-wide tasks beside them: the rotation of logs and the removal of files of unknown
 * pods.
 */
export const podWorkersCore: Core<PodWorkersInputs, PodWorkersOutside, RunningWorkers, PodWorkersCalls> = {
  service: 'pod-workers',
  outside: { records: asyncRecords, files, cgroups, hooks, epochs: { next: 'at once' } },
  start: async (ports, inputs, { epochs, ...outside }) => {
    const nextEpoch = () => epochs.next();
    return { bus: ports.bus, workers: await PodWorkers.start({ ...ports, ...inputs, ...outside, nextEpoch }) };
  },
  calls: ({ workers, bus }) => ({
    reopenLog: (log) => reopenLog(bus, log),
    nodeEvent: (event) => workers.nodeEvents.record(event, []),
    stop: () => workers.handOver(),
  }),
};

async function reopenLog(bus: Bus, { podUid, containerId }: RunningLog): Promise<void> {
  await bus.call(criCommands.ReopenContainerLog, podUid, { params: { containerId } });
}
