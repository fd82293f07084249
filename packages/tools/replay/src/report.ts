/** One place at which two messages differ. */
export interface Change {
  /** `subject`, `header <name>`, or the JSON pointer of a place in the payload. */
  readonly where: string;
  /** Undefined: missing in the recorded message. */
  readonly expected: unknown;
  readonly got: unknown;
}

/** A recorded or replayed message in a report. */
export interface ReplayedMessage {
  readonly id: string;
  /** Sequence number in the recording; undefined for a replayed message. */
  readonly seq?: number | undefined;
  readonly subject: string;
  readonly type: string;
  /** The payload as JSON; undefined when it is empty. */
  readonly payload?: unknown;
}

/** The first point at which a replay differs from the recorded life. */
export interface Difference {
  /** The difference in one sentence. */
  readonly what: string;
  /** The recorded message, and the message that the replay published instead. */
  readonly expected?: ReplayedMessage | undefined;
  readonly got?: ReplayedMessage | undefined;
  readonly changes: readonly Change[];
  /** The input that was being handled. */
  readonly cause: { readonly what: string; readonly message?: ReplayedMessage | undefined };
  /** The preceding journal entries, the last one last. */
  readonly before: readonly string[];
}

/** The result of the replay of one life. */
export interface LifeReport {
  readonly instance: string;
  readonly epoch: number;
  /** Number of inputs that were replayed. */
  readonly inputs: number;
  /** Number of recorded messages that the replay published again, equal in everything. */
  readonly equal: number;
  /** Number of replayed messages that are not in the recording: lost with a connection, or never sent. */
  readonly unrecorded: number;
  /** Number of recorded messages whose inputs are not in the journal. Never counted as equal. */
  readonly notCovered: number;
  /** Why the journal is incomplete; undefined when it is complete. */
  readonly gap?: string | undefined;
  readonly difference?: Difference | undefined;
}
