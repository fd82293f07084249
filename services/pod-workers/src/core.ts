import type { Bus } from '@kubus/bus';
import { type NodeEvent, criCommands } from '@kubus/contracts';
import { type Core, type Shape, asyncRecords } from '@kubus/journal';
import type { RunningLog } from './log-rotation.ts';
import { PodWorkers, type PodWorkersOptions } from './pod-workers.ts';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';

type PodWorkersInputs = Pick<
  PodWorkersOptions,
  'share' | 'nodeIps' | 'dns' | 'memoryCapacity' | 'kernel' | 'allocatable' | 'crashLoop' | 'syncEveryMs' | 'eventRate'
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
  remove: 'promise',
};
const cgroups: Shape<PodCgroups> = {
  parent: 'at once',
  ensure: 'promise',
  memoryUsage: 'promise',
  remove: 'promise',
};
const hooks: Shape<HookRequests> = { get: 'promise' };

/** The workers, and the bus for what is asked of others in their name. */
export interface RunningWorkers {
  readonly workers: PodWorkers;
  readonly bus: Bus;
}

/**
 * The pods' workers, without what goes on beside them for the node: the rotation of logs and the removal of files of
 * unknown pods.
 */
export const podWorkersCore: Core<PodWorkersInputs, PodWorkersOutside, RunningWorkers> = {
  service: 'pod-workers',
  outside: { records: asyncRecords, files, cgroups, hooks, epochs: { next: 'at once' } },
  start: async (ports, inputs, { epochs, ...outside }) => {
    const nextEpoch = () => epochs.next();
    return { bus: ports.bus, workers: await PodWorkers.start({ ...ports, ...inputs, ...outside, nextEpoch }) };
  },
  call: ({ workers, bus }, name, argument) => {
    switch (name) {
      case 'reopenLog':
        return reopenLog(bus, argument as RunningLog);
      case 'nodeEvent':
        return workers.nodeEvents.record(argument as NodeEvent, []);
      default:
        return workers.handOver();
    }
  },
};

/** Has the runtime close a container's log, and write to a file of the log's name from now on. */
async function reopenLog(bus: Bus, { podUid, containerId }: RunningLog): Promise<void> {
  await bus.call(criCommands.ReopenContainerLog, podUid, { params: { containerId } });
}
