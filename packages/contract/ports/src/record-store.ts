/**
 * A service's own folder of small records (rule:own-records), one file per key.
 * A write is atomic: after a crash a record is the old or the new one, never a part. Values are JSON documents.
 */
export interface RecordStore {
  /** Every record, by key. A record that cannot be read is omitted and reported by the implementation. */
  load(): Promise<Map<string, unknown>>;
  /** Keys of all records, including those that cannot be read. */
  keys(): Promise<string[]>;
  /** One record; undefined when it does not exist or cannot be read. */
  read(key: string): Promise<unknown>;
  /** Replaces the record; when it resolves, a crash of the process no longer loses it. */
  put(key: string, value: unknown): Promise<void>;
  /** Removes the record; does nothing when it does not exist. */
  delete(key: string): Promise<void>;
}
