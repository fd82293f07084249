import {
  type Ledger,
  cpuCheckpoint,
  memoryCheckpoint,
  parseCpuCheckpoint,
  parseMemoryCheckpoint,
} from '@kubus/exclusive';
import { readRegular, replaceRegular } from '@kubus/filesystem';
import { join } from 'node:path';
import { ExclusiveStateError } from './exclusive-state-error.ts';

/** More than any machine's state has. In bytes. */
const LARGEST = 16 * 1024 * 1024;

/** cpuManagerPolicy and memoryManagerPolicy. */
interface ExclusivePolicies {
  readonly cpu: string;
  readonly memory: string;
  /** The files have what pods have as a whole, too (the gate PodLevelResourceManagers). Default: false. */
  readonly podLevel?: boolean;
}

/**
 * The reference kubelet's checkpoints of the CPU and the memory manager, `cpu_manager_state` and `memory_manager_state`. A file is
 * replaced as a whole, and is on the disk before a write resolves.
 */
export class ExclusiveState {
  readonly #folder: string;
  readonly #policies: ExclusivePolicies;

  /** @param folder the kubelet's root folder, which exists */
  constructor(folder: string, policies: ExclusivePolicies) {
    this.#folder = folder;
    this.#policies = policies;
  }

  /**
   * What the files say; undefined for a manager without a file.
   *
   * @throws ExclusiveStateError for one that was written with another policy, or is damaged
   */
  async read(): Promise<Partial<Ledger>> {
    const cpu = await this.#text(CPU);
    const memory = await this.#text(MEMORY);
    const policies = this.#policies;
    const { podLevel = false } = policies;
    const file = (name: string) => ({ path: join(this.#folder, name), podLevel });
    const cpus = cpu === undefined ? undefined : parseCpuCheckpoint(cpu, { policyName: policies.cpu, ...file(CPU) });
    if (cpus !== undefined && 'problem' in cpus) throw new ExclusiveStateError('bad-cpu-state', cpus.problem);
    const blocks =
      memory === undefined
        ? undefined
        : parseMemoryCheckpoint(memory, { policyName: policies.memory, ...file(MEMORY) });
    if (blocks !== undefined && 'problem' in blocks) {
      throw new ExclusiveStateError('bad-memory-state', blocks.problem);
    }
    return { ...cpus, ...blocks };
  }

  writeCpus(ledger: Pick<Ledger, 'shared' | 'cpus' | 'podCpus'>): Promise<void> {
    return this.#write(CPU, cpuCheckpoint(this.#policies.cpu, ledger, this.#policies.podLevel));
  }

  writeMemory(ledger: Pick<Ledger, 'nodes' | 'memory' | 'podMemory'>): Promise<void> {
    return this.#write(MEMORY, memoryCheckpoint(this.#policies.memory, ledger, this.#policies.podLevel));
  }

  async #text(name: string): Promise<string | undefined> {
    return (await readRegular(join(this.#folder, name), { limit: LARGEST }))?.toString();
  }

  #write(name: string, text: string): Promise<void> {
    return replaceRegular(join(this.#folder, name), text, 0o600, { durable: true });
  }
}

const CPU = 'cpu_manager_state';
const MEMORY = 'memory_manager_state';
