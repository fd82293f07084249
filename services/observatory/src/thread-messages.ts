import { toError } from '@kubus/ports';
import { RecordingError } from '@kubus/recording';
import { RequestError } from './recordings.ts';
import type { LongTask, ShortTask, TraceTask } from './tasks.ts';

/** A question to a thread; a stream has a number, under which its pieces are requested. */
export type Question =
  | ShortTask
  | LongTask
  | { readonly do: 'open'; readonly stream: number; readonly trace: TraceTask }
  | { readonly do: 'next' | 'end'; readonly stream: number };

/** Text in UTF-8, or the reason why there is none. */
export type Reply = { readonly text: Uint8Array<ArrayBuffer> } | { readonly failure: Failure };

/** An error as it is sent between threads. */
interface Failure {
  readonly kind: 'request' | 'recording' | 'other';
  readonly code: string;
  readonly message: string;
  readonly status: RequestError['status'];
}

export function failureOf(thrown: unknown): Failure {
  const { message } = toError(thrown);
  if (thrown instanceof RequestError) {
    return { kind: 'request', code: thrown.code, message, status: thrown.status };
  }
  if (thrown instanceof RecordingError) return { kind: 'recording', code: thrown.code, message, status: 409 };
  return { kind: 'other', code: '', message, status: 409 };
}

export function errorOf({ kind, code, message, status }: Failure): Error {
  if (kind === 'request') return new RequestError(status, code, message);
  return kind === 'recording' ? new RecordingError(code, message) : new Error(message);
}
