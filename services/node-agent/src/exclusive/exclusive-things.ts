import type { Cause, FactOwner } from '@kubus/bus';
import type { CpuPool, NodeTopology } from '@kubus/contracts';
import {
  type ExclusiveSettings,
  type ExclusiveSetup,
  type Ledger,
  type PodRequest,
  cpuSetText,
  emptyLedger,
  exclusiveSetup,
  ledgerProblem,
  memoryNodes,
  withoutPod,
} from '@kubus/exclusive';
import { type ExclusiveState, ExclusiveStateError } from '@kubus/exclusive-state';
import { Lanes } from '@kubus/flow';
import type { FoundMachine } from '@kubus/machine-topology';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { ConfigError } from '@kubus/service-kit';
import { ExclusiveMetrics } from './exclusive-metrics.ts';
import { nodeTopologyOf } from './node-topology.ts';
import { type ChangeLedger, type DeviceHints, ExclusiveTurn } from './exclusive-turn.ts';

/** All changes of the ledger are in one lane. */
const LEDGER = 'ledger';

/** What a container has for itself, as lists of cpuset(7); a missing field: nothing of it. */
export interface Cpuset {
  readonly cpus?: string;
  readonly mems?: string;
}

/** Where the ledger outlives the process. */
export type LedgerFiles = Pick<ExclusiveState, 'read' | 'writeCpus' | 'writeMemory'>;

export interface ExclusiveThingsOptions {
  /** The node's name. */
  readonly node: string;
  readonly settings: ExclusiveSettings;
  readonly pool: FactOwner<CpuPool>;
  readonly topology: FactOwner<NodeTopology>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly files: LedgerFiles;
  readonly readMachine: () => Promise<FoundMachine>;
  /** Pods with resources of their own have exclusive things, too (the gate PodLevelResourceManagers). Default: false. */
  readonly podLevel?: boolean;
}

/**
 * The node's ledger of CPUs and memory that containers have for themselves. It is on the disk before any change is published, in the
 * reference kubelet's checkpoints.
 */
export class ExclusiveThings {
  readonly metrics: ExclusiveMetrics;
  readonly #options: ExclusiveThingsOptions;
  readonly #found: FoundMachine;
  readonly #setup: ExclusiveSetup;
  readonly #lanes = new Lanes();
  #ledger: Ledger;

  /**
   * Reads the checkpoints. Undefined: neither manager has a policy, so that no container has anything for itself.
   *
   * @throws ConfigError in the reference's words when its kubelet would not start with this configuration on this machine, or with the
   *   checkpoints of before
   */
  static async start(options: ExclusiveThingsOptions): Promise<ExclusiveThings | undefined> {
    const { settings, files, pool } = options;
    const { cpuManagerPolicy: cpu, memoryManagerPolicy: memory, cpuManagerPolicyOptions } = settings;
    const had = await files.read().catch((error: unknown) => {
      if (error instanceof ExclusiveStateError) throw new ConfigError('bad-config', error.message, { cause: error });
      throw error;
    });
    if (cpu === 'none' && memory === 'None' && Object.keys(cpuManagerPolicyOptions).length === 0) {
      pool.complete();
      void showMachine(options);
      return undefined;
    }
    const found = await options.readMachine();
    const setup = exclusiveSetup(found.machine, settings);
    if ('problem' in setup) throw new ConfigError('bad-config', setup.problem);
    const ledger = { ...emptyLedger(setup), ...used(had) };
    const problem = ledgerProblem(setup, ledger);
    if (problem !== undefined) throw new ConfigError('bad-config', problem);
    const things = new ExclusiveThings(options, { found, setup, ledger });
    await things.#write(ledger, undefined);
    things.#publish([]);
    pool.complete();
    options.topology.complete();
    return things;
  }

  private constructor(
    options: ExclusiveThingsOptions,
    { found, setup, ledger }: { found: FoundMachine; setup: ExclusiveSetup; ledger: Ledger },
  ) {
    this.#options = options;
    this.#found = found;
    this.#setup = setup;
    this.#ledger = ledger;
    this.metrics = new ExclusiveMetrics(setup, () => this.#ledger, options.podLevel);
  }

  /** UIDs of the pods that have something for themselves. */
  get uids(): readonly string[] {
    const { cpus, memory } = this.#ledger;
    return [...new Set([...Object.keys(cpus), ...Object.keys(memory)])];
  }

  /**
   * Begins to give the pod’s containers what they request, or to leave them what they have.
   *
   * @param asked.starting this container is about to be created
   * @param asked.devices hints for the devices of the whole pod
   * @throws KubusError with the reason and the message of the reference's refusal
   */
  async begin(asked: {
    readonly pod: PodRequest;
    readonly starting: string | undefined;
    readonly cause: Cause;
    readonly devices: DeviceHints;
  }): Promise<ExclusiveTurn> {
    const { pod, starting, cause } = asked;
    // The memory of init containers that have ended may have been given to other pods.
    const lacking = starting !== undefined && this.#hasAll(pod, starting) ? [] : pod.containers;
    const change = this.#changeBy(cause);
    const turn = new ExclusiveTurn({
      ...{ asked, lacking, change, setup: this.#setup, metrics: this.metrics, clock: this.#options.clock },
    });
    await turn.begin();
    return turn;
  }

  /** What a container has for itself. */
  of(uid: string, container: string): Cpuset | undefined {
    const cpus = this.#ledger.cpus[uid]?.[container];
    const blocks = this.#ledger.memory[uid]?.[container];
    if (cpus === undefined && blocks === undefined) return undefined;
    const nodes = memoryNodes(blocks ?? []);
    return {
      ...(cpus !== undefined && { cpus: cpuSetText(cpus) }),
      ...(nodes.length > 0 && { mems: cpuSetText(nodes) }),
    };
  }

  /** Frees what a pod has. If that cannot be written it stays the pod's, until the next attempt. */
  async free(uid: string): Promise<void> {
    try {
      await this.#lanes.run(LEDGER, () => this.#change(withoutPod(this.#ledger, uid), []));
    } catch (error) {
      this.#options.logger.error({ podUid: uid, err: toError(error) }, 'cannot free the CPUs and the memory of a pod');
    }
  }

  #hasAll({ uid, containers, whole }: PodRequest, name: string): boolean {
    const { cpu, memory, topology } = this.#setup;
    const wanted = containers.find((one) => one.name === name);
    if (wanted === undefined) return true;
    const count = whole !== undefined && topology?.scope === 'pod' ? whole.cpus : wanted.cpus;
    if (cpu !== undefined && count > 0 && this.#ledger.cpus[uid]?.[name] === undefined) return false;
    return memory === undefined || wanted.memory === undefined || this.#ledger.memory[uid]?.[name] !== undefined;
  }

  /** Runs one change after the other; each sees the ledger that the one before has left. */
  #changeBy(cause: Cause): ChangeLedger {
    return (of) => this.#lanes.run(LEDGER, async () => this.#change(of(this.#ledger), [cause]));
  }

  async #change(next: Ledger, causes: readonly Cause[]): Promise<void> {
    const before = this.#ledger;
    if (next === before) return;
    await this.#write(next, before);
    this.#ledger = next;
    this.#publish(causes, before);
  }

  /** Writes what has changed; all of it without a ledger of before. */
  async #write(next: Ledger, before: Ledger | undefined): Promise<void> {
    const { cpu, memory } = this.#setup;
    const hasCpus = next.cpus !== before?.cpus || next.shared !== before.shared;
    if (cpu !== undefined && hasCpus) await this.#options.files.writeCpus(next);
    const hasMemory = next.memory !== before?.memory || next.nodes !== before.nodes;
    if (memory !== undefined && hasMemory) await this.#options.files.writeMemory(next);
  }

  /** What others see of the ledger, as far as it differs from the one of before. */
  #publish(causes: readonly Cause[], before?: Ledger): void {
    const { node, settings, pool, topology } = this.#options;
    const { shared } = this.#ledger;
    if (this.#setup.cpu !== undefined && shared !== before?.shared) {
      pool.put(node, { cpus: cpuSetText(shared) }, { causes });
    }
    const given = { setup: this.#setup, ledger: this.#ledger };
    topology.put(node, nodeTopologyOf(this.#found, settings, given), { causes });
  }
}

/** Publishes the machine of a node on which no container has anything for itself: nobody waits for it. */
async function showMachine(options: ExclusiveThingsOptions): Promise<void> {
  const { node, settings, topology, logger, readMachine } = options;
  try {
    topology.put(node, nodeTopologyOf(await readMachine(), settings));
    topology.complete();
  } catch (error) {
    logger.warn({ err: toError(error) }, 'cannot read the CPUs and NUMA nodes of the machine');
  }
}

/** A checkpoint that has nothing at all is one of a manager that has not decided anything. */
function used({ shared, cpus, podCpus = {}, nodes, memory, podMemory = {} }: Partial<Ledger>): Partial<Ledger> {
  const hasCpus = cpus !== undefined && shared !== undefined && (shared.length > 0 || Object.keys(cpus).length > 0);
  const hasMemory = nodes !== undefined && memory !== undefined && Object.keys(nodes).length > 0;
  return { ...(hasCpus && { shared, cpus, podCpus }), ...(hasMemory && { nodes, memory, podMemory }) };
}
