import { KubusError, type RecordStore } from '@kubus/ports';

/** Thrown when another instance owns the record, under a greater term. */
export class OwnershipLost extends KubusError {}

/**
 * Records that move between the instances of a service, which all see one folder. Each is written with its writer
 * and the term under which that instance owns it, and no instance writes or removes one of a greater term: an instance
 * that has lost
 * a record notices it at its next write.
 *
 * Checking and writing are two steps, so a process that was halted for long between them may replace a newer record by
 * an older one. The next write of its owner fixes that.
 */
export class SharedRecords {
  readonly #store: RecordStore;
  readonly #instance: string;

  constructor(store: RecordStore, instance: string) {
    this.#store = store;
    this.#instance = instance;
  }

  /** Every record, by key. */
  load(): Promise<Map<string, unknown>> {
    return this.#store.load();
  }

  /** Keys of all records, of any owner. */
  keys(): Promise<string[]> {
    return this.#store.keys();
  }

  /**
   * Takes over a record: from now on only a greater term can write it. Returns its last content, undefined if there is
   * none.
   *
   * @throws OwnershipLost when another instance owns it.
   */
  async take(key: string, term: number): Promise<unknown> {
    const record = await this.#look(key, term);
    if (isObject(record) && termOf(record) < term) await this.#put(key, term, record);
    return record;
  }

  /** Like `RecordStore.put`. Throws {@link OwnershipLost} when another instance owns the record. */
  async put(key: string, term: number, value: object): Promise<void> {
    await this.#look(key, term);
    await this.#put(key, term, value);
  }

  /** Like `RecordStore.delete`. Throws {@link OwnershipLost} when another instance owns the record. */
  async delete(key: string, term: number): Promise<void> {
    await this.#look(key, term);
    await this.#store.delete(key);
  }

  #put(key: string, term: number, value: object): Promise<void> {
    return this.#store.put(key, { ...value, term, holder: this.#instance });
  }

  async #look(key: string, term: number): Promise<unknown> {
    const record = await this.#store.read(key);
    const present = termOf(record);
    if (present <= term) return record;
    throw new OwnershipLost('ownership-lost', `the record of ${key} was taken over`, {
      context: { key, term, present },
    });
  }
}

function termOf(record: unknown): number {
  return isObject(record) && typeof record['term'] === 'number' ? record['term'] : 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
