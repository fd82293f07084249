import { type AdmissionRecord, admissionRecordSchema } from '@kubus/admission';
import type { Violation } from './invariants.ts';
import type { NodeMemory } from './node-memory.ts';

/**
 * Checks the evictions by what sync-loop writes on the disk, because that is what decides: messages about it are late or lost.
 */
export class EvictionWatch {
  readonly violations: Violation[] = [];
  readonly #memory: NodeMemory;
  readonly #evicted = new Map<string, { readonly message: string; readonly atMs: number }>();
  /** UIDs of the pods that had to go for static ones. */
  readonly #preempted = new Set<string>();

  readonly #note: (text: string) => void;

  /** @param note called with each eviction, for people */
  constructor(memory: NodeMemory, note: (text: string) => void) {
    this.#memory = memory;
    this.#note = note;
  }

  /** UIDs of the pods that were evicted, for what the node is short of or for static pods. */
  get evicted(): ReadonlySet<string> {
    return new Set([...this.#evicted.keys(), ...this.#preempted]);
  }

  /** A record of sync-loop was written. */
  written(uid: string, value: unknown, now: number): void {
    const record = admissionRecordSchema.parse(value);
    const before = this.#evicted.get(uid);
    if (record.verdict !== 'evicted') {
      if (before !== undefined && record.verdict !== 'ending')
        this.#violate('an evicted pod never comes back', `${uid}: ${record.verdict}`);
      return;
    }
    if (record.failure.reason === 'Preempting') this.#preempted.add(uid);
    if (record.failure.reason !== 'Evicted') return;
    if (before === undefined) this.#first(uid, record, now);
    else if (before.message !== record.failure.message)
      this.#violate('a pod is evicted once', `${uid}: ${record.failure.message}, before: ${before.message}`);
  }

  #first(uid: string, { failure: { message } }: Extract<AdmissionRecord, { verdict: 'evicted' }>, now: number): void {
    const readAt = this.#memory.readAt(message);
    const last = [...this.#evicted].at(-1);
    this.#evicted.set(uid, { message, atMs: now });
    this.#note(`evicted ${uid}: ${message}`);
    if (readAt === undefined) this.#violate('an eviction names a reading of the node', `${uid}: ${message}`);
    else if (last !== undefined && readAt < last[1].atMs) {
      const detail = `${uid}: read ${last[1].atMs - readAt} ms before ${last[0]} was evicted`;
      this.#violate('no pod is evicted for a reading older than the last eviction', detail);
    }
  }

  #violate(rule: string, detail: string): void {
    this.violations.push({ rule, detail });
  }
}
