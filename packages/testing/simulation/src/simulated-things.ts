import type { Bus } from '@kubus/bus';
import { type ContainerDevices, cpuPool, deviceAllocation, deviceResource, nodeTopology } from '@kubus/contracts';
import { cpuCheckpoint, memoryCheckpoint, parseCpuCheckpoint, parseMemoryCheckpoint } from '@kubus/exclusive';
import {
  DeviceAllocations,
  DeviceManager,
  DeviceResources,
  EndedPods,
  ExclusiveThings,
  type LedgerFiles,
} from '@kubus/node-agent/devices';
import { DevicePlugin } from '@kubus/node-plugins';
import { type Cancel, type Clock, KubusError, type Logger, type RecordStore, sleep } from '@kubus/ports';
import type { Disk } from './disk.ts';
import type { ProcessGuard } from './process-guard.ts';
import { DEVICE, DEVICES, MACHINE, type ThingsPolicy, exclusiveSettings } from './simulated-machine.ts';
import { type Mutations, NODE } from './simulated-process.ts';

/** Folders of the disk: the checkpoints, and the records of pods' devices. */
export const LEDGER = 'ledger';
export const DEVICE_RECORDS = 'devices';

/** Names of the checkpoints. */
export const CPU_STATE = 'cpu_manager_state';
export const MEMORY_STATE = 'memory_manager_state';

/**
 * The part of node-agent that gives containers CPUs, memory and devices for themselves: its own code, on a described machine and the
 * simulated disk, with a plugin whose devices are always healthy.
 */
export async function startThings(options: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly guard: ProcessGuard;
  readonly disk: Disk;
  readonly policy: ThingsPolicy;
  readonly mutations: Mutations;
}): Promise<void> {
  const { bus, clock, logger, guard, disk, policy, mutations } = options;
  const resources = await DeviceResources.start({
    ...{ fact: bus.owner(deviceResource), records: disk.store('device-resources', guard) },
    ...{ clock, logger, changed: () => undefined },
  });
  const allocations = await DeviceAllocations.load({
    ...{ fact: bus.owner(deviceAllocation), records: disk.store(DEVICE_RECORDS, guard), logger },
  });
  const files = new LedgerOnDisk(disk.store(LEDGER, guard));
  const exclusive = await ExclusiveThings.start({
    ...{ node: NODE, settings: exclusiveSettings(policy), podLevel: true, clock, logger },
    ...{ pool: bus.owner(cpuPool), topology: bus.owner(nodeTopology) },
    files: mutations.makeLedger?.(files) ?? files,
    readMachine: () => guard.promise(Promise.resolve({ machine: MACHINE, offline: [], isolated: [], smt: false })),
  });
  const ended = mutations.makeEnded?.(bus, clock) ?? new EndedPods(bus, clock);
  const manager = new DeviceManager({
    ...{ bus, logger, resources, allocations, exclusive },
    topology: { policy: policy.topology, nodes: DEVICES.map((_, node) => node) },
    topologyScope: policy.scope,
    requested: (uid) => ended.requested(uid),
    isEnded: (uid) => ended.has(uid),
    timed: (_resource, call) => call(),
  });
  ended.follow((uid) => manager.sweep(uid));
  const plugin = new SimulatedPlugin(clock);
  clock.after(5, () =>
    resources.register({ resource: DEVICE, plugin, options: { preStart: false, preference: false } }),
  );
}

/** The checkpoints as the service writes them, each replaced as a whole. */
class LedgerOnDisk implements LedgerFiles {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  async read(): ReturnType<LedgerFiles['read']> {
    const [cpu, memory] = [await this.#records.read(CPU_STATE), await this.#records.read(MEMORY_STATE)];
    return {
      ...(cpu !== undefined && cpusIn(cpu)),
      ...(memory !== undefined && memoryIn(memory)),
    };
  }

  writeCpus(ledger: Parameters<LedgerFiles['writeCpus']>[0]): Promise<void> {
    return this.#records.put(CPU_STATE, cpuCheckpoint('static', ledger, true));
  }

  writeMemory(ledger: Parameters<LedgerFiles['writeMemory']>[0]): Promise<void> {
    return this.#records.put(MEMORY_STATE, memoryCheckpoint('Static', ledger, true));
  }
}

/** Who has which CPUs, by the checkpoint. */
export function cpusIn(text: unknown) {
  const found = parseCpuCheckpoint(String(text), { policyName: 'static', path: CPU_STATE, podLevel: true });
  if ('problem' in found) throw new KubusError('bad-checkpoint', found.problem);
  return found;
}

/** Who has which memory, by the checkpoint. */
export function memoryIn(text: unknown) {
  const found = parseMemoryCheckpoint(String(text), { policyName: 'Static', path: MEMORY_STATE, podLevel: true });
  if ('problem' in found) throw new KubusError('bad-checkpoint', found.problem);
  return found;
}

class SimulatedPlugin extends DevicePlugin {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    super('');
    this.#clock = clock;
  }

  override watch(listener: Parameters<DevicePlugin['watch']>[0]): Cancel {
    return this.#clock.after(1, () =>
      listener.devices(DEVICES.map((id, node) => ({ id, healthy: true, numaNodes: [node] }))),
    );
  }

  override async allocate(ids: readonly string[]): Promise<ContainerDevices> {
    await sleep(this.#clock, 5);
    const devices = ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: `/dev/${id}`, permissions: 'rw' }));
    return { envs: {}, mounts: [], devices, annotations: {}, cdiDevices: [] };
  }
}
