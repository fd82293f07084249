import { KubusError, type RecordStore } from '@kubus/ports';

/** Another instance has the record, under a greater term. */
export class RecordTaken extends KubusError {}

/**
 * Records that move between the instances of a service, which all see one folder. Each is written with its writer
 * and the term under which that one has it, and nobody writes or removes one of a greater term: whoever has lost a record learns it when it
 * is about to write.
 *
 * To look and to write are two steps, so a process that was halted for long just between them may put an older record over
 * a newer one. The next write of the one who has it mends that.
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

  /** Keys of all records, whoever has them. */
  keys(): Promise<string[]> {
    return this.#store.keys();
  }

  /**
   * Takes a record over: from now on only a greater term can write it. Returns it as its last writer left it, undefined
   * when there is none.
   *
   * @throws RecordTaken when another instance has it.
   */
  async take(key: string, term: number): Promise<unknown> {
    const record = await this.#look(key, term);
    if (isObject(record) && termOf(record) < term) await this.#put(key, term, record);
    return record;
  }

  /** As `RecordStore.put`. Throws {@link RecordTaken} when another instance has the record. */
  async put(key: string, term: number, value: object): Promise<void> {
    await this.#look(key, term);
    await this.#put(key, term, value);
  }

  /** As `RecordStore.delete`. Throws {@link RecordTaken} when another instance has the record. */
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
    throw new RecordTaken('record-taken', `the record of ${key} was taken over`, { context: { key, term, present } });
  }
}

function termOf(record: unknown): number {
  return isObject(record) && typeof record['term'] === 'number' ? record['term'] : 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
