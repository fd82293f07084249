/**
 * A service's own folder of small records (DESIGN rule 11: what truth outside does not hold), one file per key.
 * A write is atomic: after a crash a record is the old or the new one, never a part. Values are JSON documents.
 */
export interface RecordStore {
  /** Every record, by key. A record that cannot be read is left out and reported by the implementation. */
  load(): Promise<Map<string, unknown>>;
  /** Keys of all records, also of those that can not be read. */
  keys(): Promise<string[]>;
  /** One record; undefined when there is none, or none that can be read. */
  read(key: string): Promise<unknown>;
  /** Replaces the record; when it resolves, a crash of the process no longer loses it. */
  put(key: string, value: unknown): Promise<void>;
  /** Removes the record; harmless when there is none. */
  delete(key: string): Promise<void>;
}
