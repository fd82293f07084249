import type { RuntimeModel } from './runtime-model.ts';

const MI = 1024 * 1024;

/** The node's memory, and what has to be left of it (evictionHard, `memory.available`). In MiB. */
const CAPACITY = 1_000;
export const THRESHOLD = 100;

/**
 * The memory of the node: each running container uses some, and for a time something that is not a pod uses nearly all of the
 * rest. No two readings are the same number, so that a message that names one says when it was read.
 */
export class NodeMemory {
  readonly #runtime: () => Pick<RuntimeModel, 'pod' | 'uids'>;
  /** When each reading was taken, in milliseconds since the Unix epoch, by what was available, in KiB. */
  readonly #readings = new Map<number, number>();
  /** What is not used by pods, in MiB. */
  #burden = 0;
  #excess = 0;

  constructor(runtime: () => Pick<RuntimeModel, 'pod' | 'uids'>) {
    this.#runtime = runtime;
  }

  /** Only so much is left that these MiB have to become free. */
  shortBy(missing: number): void {
    this.#burden = CAPACITY - THRESHOLD - this.#ofPods() + missing;
  }

  relax(): void {
    this.#burden = 0;
  }

  /** Bytes that a pod's running containers use. */
  usedBy(uid: string): number {
    const running = this.#runtime()
      .pod(uid)
      .containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
    return running.length * 10 * MI;
  }

  read(now: number): { readonly available: number; readonly capacity: number; readonly atMs: number } {
    this.#excess += 1;
    const kibi = Math.max(1, CAPACITY - this.#burden - this.#ofPods()) * 1024 + (this.#excess % 1024);
    this.#readings.set(kibi, now);
    return { available: kibi * 1024, capacity: CAPACITY * MI, atMs: now };
  }

  /** When the reading was taken that this message of an eviction names. */
  readAt(message: string): number | undefined {
    const [, kibi = ''] = /available: (\d+)Ki\. /.exec(message) ?? [];
    return this.#readings.get(Number(kibi));
  }

  #ofPods(): number {
    return this.#runtime().uids.reduce((sum, uid) => sum + this.usedBy(uid), 0) / MI;
  }
}
