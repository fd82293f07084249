import type { AttachmentRecord, AttachmentRequest } from './attachment-record.ts';
import { CniCode, CniError } from './cni-error.ts';
import type { CniResult } from './result.ts';

/** The number of a caller that waits for an answer. */
export type Ask = number;

/** A caller whose ADD starts when the current removal has ended. */
export interface Next {
  readonly ask: Ask;
  readonly request: AttachmentRequest;
}

/**
 * One attachment (container id and interface). Except in `absent`, `added` and `unfinished`, exactly one operation is in
 * progress, and the next input about it is `done` or `failed`.
 */
export type AttachmentState =
  | { readonly phase: 'absent' }
  | {
      readonly phase: 'adding';
      /** What is in progress: recording the intent, ADD of plugin `record.completed`, or recording `reached`. */
      readonly step: 'intent' | 'plugin' | 'progress';
      /** As in the journal, now or once the intent is recorded. */
      readonly record: AttachmentRecord;
      /** Step `progress`: the record that is being written. */
      readonly reached?: AttachmentRecord;
      readonly adders: readonly Ask[];
      /** Callers that requested DEL: no further plugin is run. */
      readonly deleters: readonly Ask[];
      /** Callers that requested ADD after the DEL. */
      readonly next: readonly Next[];
    }
  | { readonly phase: 'added'; readonly record: AttachmentRecord }
  | {
      readonly phase: 'checking';
      readonly record: AttachmentRecord;
      readonly index: number;
      readonly checkers: readonly Ask[];
      readonly deleters: readonly Ask[];
    }
  | {
      readonly phase: 'removing';
      /** What is in progress: recording the intent, DEL of plugin `index`, or removing the record. */
      readonly step: 'intent' | 'plugin' | 'forget';
      readonly record: AttachmentRecord;
      /** Whether the journal has a record; an unknown attachment is removed without one. */
      readonly recorded: boolean;
      readonly index: number;
      /** The failed ADD that is being undone, and the callers that receive its error afterwards. */
      readonly failed?: { readonly asks: readonly Ask[]; readonly error: CniError };
      readonly deleters: readonly Ask[];
      readonly next: readonly Next[];
    }
  /** The journal has a record that is not `added`, and nothing is in progress: a removal failed or was interrupted by a crash. */
  | { readonly phase: 'unfinished'; readonly record: AttachmentRecord; readonly error: CniError };

export type AttachmentInput =
  | { readonly kind: 'add'; readonly ask: Ask; readonly request: AttachmentRequest }
  /** `unknown`: how to remove it when it has no record; without a network no plugin is run. */
  | { readonly kind: 'del'; readonly ask: Ask; readonly unknown?: AttachmentRequest | undefined }
  | { readonly kind: 'check'; readonly ask: Ask }
  /** The operation in progress succeeded; `result` is that of a plugin's ADD. */
  | { readonly kind: 'done'; readonly result?: CniResult | undefined }
  | { readonly kind: 'failed'; readonly error: CniError };

/** The next operation. One at a time; its outcome is the next input about it. */
export type Operation =
  | { readonly kind: 'record'; readonly record: AttachmentRecord }
  | { readonly kind: 'forget'; readonly record: AttachmentRecord }
  | {
      readonly kind: 'plugin';
      readonly command: 'ADD' | 'DEL' | 'CHECK';
      readonly index: number;
      readonly record: AttachmentRecord;
      readonly prevResult?: CniResult | undefined;
    };

export interface Answer {
  readonly ask: Ask;
  readonly outcome: { readonly result?: CniResult | undefined } | { readonly error: CniError };
}

export interface Transition {
  readonly state: AttachmentState;
  readonly operation?: Operation;
  readonly answers: readonly Answer[];
}

/** The state in one of its phases. */
export type Phase<Name extends AttachmentState['phase']> = Extract<AttachmentState, { phase: Name }>;

/** The state of an attachment after a restart, from its record in the journal. */
export function restoreAttachment(record: AttachmentRecord): AttachmentState {
  return record.state === 'added'
    ? { phase: 'added', record }
    : {
        phase: 'unfinished',
        record,
        error: new CniError(CniCode.tryAgainLater, `${record.state === 'adding' ? 'ADD' : 'DEL'} was interrupted`),
      };
}

/** Whether an operation is in progress, whose outcome must come before anything else happens. */
export function isBusy(state: AttachmentState): boolean {
  return state.phase === 'adding' || state.phase === 'checking' || state.phase === 'removing';
}
