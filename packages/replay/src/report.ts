/** One place at which two messages differ. */
export interface Change {
  /** `subject`, `header <name>`, or the JSON pointer of a place in the payload. */
  readonly where: string;
  /** Undefined: not there. */
  readonly expected: unknown;
  readonly got: unknown;
}

/** A message in a report. */
export interface ToldMessage {
  readonly id: string;
  /** The broker's sequence, of a recorded message. */
  readonly seq?: number | undefined;
  readonly subject: string;
  readonly type: string;
  /** As JSON; undefined where it is empty. */
  readonly payload?: unknown;
}

/** Where a replay went another way than the life did. */
export interface Difference {
  /** In one sentence. */
  readonly what: string;
  /** The recorded message that the replay did not give, and what it gave instead. */
  readonly expected?: ToldMessage | undefined;
  readonly got?: ToldMessage | undefined;
  readonly changes: readonly Change[];
  /** What had just come in. */
  readonly cause: { readonly what: string; readonly message?: ToldMessage | undefined };
  /** What stood in the journal before it, the last one last. */
  readonly before: readonly string[];
}

/** What came of the replay of one life. */
export interface LifeReport {
  readonly instance: string;
  readonly epoch: number;
  /** Inputs that were given. */
  readonly inputs: number;
  /** Recorded messages that were made again, each the same. */
  readonly equal: number;
  /** Messages that were made again, but are not in the recording: lost with a connection, or never sent. */
  readonly unrecorded: number;
  /** Recorded messages of which the journal does not tell how they came about. Never counted as equal. */
  readonly notCovered: number;
  /** Why the journal ends before the life does, if it does. */
  readonly gap?: string | undefined;
  readonly difference?: Difference | undefined;
}
