import * as z from 'zod';

/** The name of a recording that a user names: letters, digits, dots, dashes, underscores. */
export const recordingNameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
  error: 'must be 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit',
});

export const startRecordingSchema = z.strictObject({ name: recordingNameSchema });

/** The recording that always exists on a running node: the node's record. Names of other recordings never begin with `~`. */
export const LIVE = '~live';

export interface RecordingDocument {
  /** Its name, or {@link LIVE}. */
  readonly name: string;
  readonly node: string;
  /** `recording` grows; `live` grows and drops its oldest messages; `complete` has ended; `imported` was read from a file. */
  readonly state: 'live' | 'recording' | 'complete' | 'imported';
  /** The version of Kubus that recorded it. */
  readonly version: string;
  /** When it was started; and when it ended, if it has. */
  readonly began: number;
  readonly ended?: number;
  /** First and last publication in it; missing while it is empty. */
  readonly firstAt?: number;
  readonly lastAt?: number;
  readonly messages: number;
  /** Size of its file in bytes. */
  readonly bytes: number;
  readonly completeness: Completeness;
}

/** Evidence that no message is missing. Complete: all three counts are 0. */
export interface Completeness {
  /** Messages that the broker had dropped before they were read: gaps in its sequence. */
  readonly droppedByBroker: number;
  /**
   * Messages that a publisher numbered and that are missing: gaps in its sequence numbers between its first and
   * last message.
   */
  readonly neverStored: number;
  /** Messages that were stored without a readable envelope. */
  readonly unreadable: number;
}
