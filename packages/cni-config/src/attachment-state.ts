import type { AttachmentRecord, AttachmentRequest } from './attachment-record.ts';
import { CniCode, CniError } from './cni-error.ts';
import type { CniResult } from './result.ts';

/** The number of a caller that waits for an answer. */
export type Ask = number;

/** Someone whose ADD begins when the present removal has ended. */
export interface Next {
  readonly ask: Ask;
  readonly request: AttachmentRequest;
}

/**
 * One attachment (container id and interface). Outside `absent`, `added` and `unfinished` exactly one operation is under
 * way, and the next input about it is `done` or `failed`.
 */
export type AttachmentState =
  | { readonly phase: 'absent' }
  | {
      readonly phase: 'adding';
      /** What is under way: the journal's intent, ADD of plugin `record.completed`, or the journal's record of `reached`. */
      readonly step: 'intent' | 'plugin' | 'progress';
      /** As the journal has it, or will have it when the intent is written. */
      readonly record: AttachmentRecord;
      /** Step `progress`: the record that is being written. */
      readonly reached?: AttachmentRecord;
      readonly adders: readonly Ask[];
      /** Someone asked for DEL: no further plugin is run. */
      readonly deleters: readonly Ask[];
      /** Asked for ADD after the DEL. */
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
      /** What is under way: the journal's record of the intent, DEL of plugin `index`, or the record's removal. */
      readonly step: 'intent' | 'plugin' | 'forget';
      readonly record: AttachmentRecord;
      /** Whether the journal holds it; an attachment that nobody knows is removed without a record. */
      readonly recorded: boolean;
      readonly index: number;
      /** The failed ADD that is undone, and who gets its error afterwards. */
      readonly failed?: { readonly asks: readonly Ask[]; readonly error: CniError };
      readonly deleters: readonly Ask[];
      readonly next: readonly Next[];
    }
  /** The journal holds a record that is not `added`, and nothing is under way: a removal failed, or a crash came between. */
  | { readonly phase: 'unfinished'; readonly record: AttachmentRecord; readonly error: CniError };

export type AttachmentInput =
  | { readonly kind: 'add'; readonly ask: Ask; readonly request: AttachmentRequest }
  /** `unknown`: how to remove it when there is no record of it; without a network there is nothing to run. */
  | { readonly kind: 'del'; readonly ask: Ask; readonly unknown?: AttachmentRequest | undefined }
  | { readonly kind: 'check'; readonly ask: Ask }
  /** The operation under way succeeded; `result` is that of a plugin's ADD. */
  | { readonly kind: 'done'; readonly result?: CniResult | undefined }
  | { readonly kind: 'failed'; readonly error: CniError };

/** What is to be done next. One at a time; its outcome is the next input about it. */
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

/** The state in which an attachment is after a restart, from what the journal holds of it. */
export function restoreAttachment(record: AttachmentRecord): AttachmentState {
  return record.state === 'added'
    ? { phase: 'added', record }
    : {
        phase: 'unfinished',
        record,
        error: new CniError(CniCode.tryAgainLater, `${record.state === 'adding' ? 'ADD' : 'DEL'} was interrupted`),
      };
}

/** Whether an operation is under way, whose outcome must come before anything else happens. */
export function isBusy(state: AttachmentState): boolean {
  return state.phase === 'adding' || state.phase === 'checking' || state.phase === 'removing';
}
