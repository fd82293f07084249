import * as z from 'zod';

/** Of a recording that people name: letters, digits, dots, dashes, underscores. */
export const recordingNameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
  error: 'must be 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit',
});

export const startRecordingSchema = z.strictObject({ name: recordingNameSchema });

/** The recording that is always there on a running node: what the broker still keeps. Names of others never begin with `~`. */
export const LIVE = '~live';

export interface RecordingDocument {
  /** Its name, or {@link LIVE}. */
  readonly name: string;
  readonly node: string;
  /** `recording` grows; `live` grows and forgets its oldest; `complete` is whole; `imported` came from a file. */
  readonly state: 'live' | 'recording' | 'complete' | 'imported';
  /** The version of Kubus that recorded it. */
  readonly version: string;
  /** When it was begun; and ended, if it was. */
  readonly began: number;
  readonly ended?: number;
  /** First and last publication in it; missing while it is empty. */
  readonly firstAt?: number;
  readonly lastAt?: number;
  readonly messages: number;
  /** Size of its file. */
  readonly bytes: number;
  readonly completeness: Completeness;
}

/** What proves that nothing is missing. Complete: all three counts are 0. */
export interface Completeness {
  /** Messages that the broker had dropped before they were read: holes in its sequence. */
  readonly droppedByBroker: number;
  /** Messages that a publisher had numbered and nobody has seen: holes in its running numbers between its first and last one. */
  readonly neverStored: number;
  /** Messages that were stored and carry no readable envelope. */
  readonly unreadable: number;
}
