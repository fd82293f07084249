/**
 * Every time in these documents is in milliseconds since the Unix epoch with a fraction of microseconds, every duration
 * in milliseconds.
 */

export type MessageKind = 'fact' | 'cmd' | 'event' | 'reply';

/** A recorded message without its payload: what lists and drawings need. */
export interface MessageBrief {
  /** The broker's sequence; grows within a recording. */
  readonly seq: number;
  /** `<source>.<epoch>.<number>`: what effects name as their cause. */
  readonly id: string;
  readonly subject: string;
  /** `worker.fact.status/1`; of a reply the type of its command. */
  readonly type: string;
  readonly kind: MessageKind;
  /** The publishing instance, such as `pod-workers-0`; that of its journal too, whose own source is in the id. */
  readonly source: string;
  /** Its service, such as `pod-workers`. */
  readonly service: string;
  /** When it was published, by its publisher. */
  readonly at: number;
  /** When the broker had stored it. */
  readonly stored: number;
  /** When the publisher had got the first of the causes; missing when that was a message of its own. */
  readonly heard?: number;
  /** When the publisher began to work on that cause, where it had to wait for its turn. */
  readonly began?: number;
  /** UID of the pod that it is about. */
  readonly pod?: string;
  /** Ids of what it depended on, the last awaited first. */
  readonly causes: readonly string[];
  /** One line for people: what it says. */
  readonly summary: string;
  /** Length of the payload. */
  readonly bytes: number;
}

/** A recorded message, whole, with its neighbours in the causal graph. */
export interface MessageDocument extends MessageBrief {
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; null where a message has none. */
  readonly payload: unknown;
  /** What it depended on, as far as the recording holds it. */
  readonly causedBy: readonly MessageBrief[];
  /** What named it as a cause. */
  readonly caused: readonly MessageBrief[];
}

/** One page of messages in the order of the broker. */
export interface MessagePage {
  readonly messages: readonly MessageBrief[];
  /** Pass it as `after` to get what follows; missing at the end. */
  readonly next?: number;
}
