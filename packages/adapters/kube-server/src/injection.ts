import type { StatusError } from '@kubus/kube-objects';
import type { RequestInfo } from './request-info.ts';

/** A request that has arrived, with its user. */
export interface ArrivedRequest extends RequestInfo {
  /** Empty: unknown. */
  readonly user: string;
  readonly groups: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly bodyBytes: number;
}

/** The result of a request. */
export interface Outcome {
  /** HTTP status; undefined if it got no response. */
  readonly status?: number;
  /** Milliseconds; of a watch: how long it was open. */
  readonly durationMs: number;
}

/** The fault of a request. */
export type Fault =
  /** It is refused with this error, before it is executed. */
  | { readonly kind: 'answer'; readonly error: StatusError }
  /** It is served after the promise has resolved. */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  /** The connection breaks: before the request is executed, or after it without a response. */
  | { readonly kind: 'reset'; readonly after: 'request' | 'effect' }
  /** No response is ever sent, with the connection open. A watch "after effect" starts and stays empty. */
  | { readonly kind: 'silence'; readonly after: 'request' | 'effect' };

/** What stands between requests and their answers in tests. A node's own server has none. */
export interface Injection {
  /** Called for each request. Returns its fault, if it has one, and a function that is called with its result. */
  arrived(request: ArrivedRequest): { readonly fault: Fault | undefined; readonly done: (outcome: Outcome) => void };
}
