/**
 * Every time in these documents is in milliseconds since the Unix epoch with a fraction of microseconds, every duration
 * in milliseconds.
 */

export type MessageKind = 'fact' | 'cmd' | 'event' | 'reply';

/** A recorded message without its payload, for lists and charts. */
export interface MessageBrief {
  /** The broker's sequence; grows within a recording. */
  readonly seq: number;
  /** `<source>.<epoch>.<number>`: the id by which effects refer to it as their cause. */
  readonly id: string;
  readonly subject: string;
  /** `worker.fact.status/1`; for a reply the type of its command. */
  readonly type: string;
  readonly kind: MessageKind;
  /** The publishing instance, such as `pod-workers-0`; also for its journal, whose own source is in the id. */
  readonly source: string;
  /** Its service, such as `pod-workers`. */
  readonly service: string;
  /** When it was published, according to its publisher. */
  readonly at: number;
  /** When the broker had stored it. */
  readonly stored: number;
  /** When the publisher received the first of the causes; missing when that was one of its own messages. */
  readonly heard?: number;
  /** When the publisher began to work on that cause, where it had to be queued. */
  readonly began?: number;
  /** UID of the pod that it is about. */
  readonly pod?: string;
  /** Ids of the messages that it depended on, the last awaited first. */
  readonly causes: readonly string[];
  /** A summary of one line for people. */
  readonly summary: string;
  /** Length of the payload in bytes. */
  readonly bytes: number;
}

/** A recorded message with its payload and its neighbors in the causal graph. */
export interface MessageDocument extends MessageBrief {
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; null where a message has none. */
  readonly payload: unknown;
  /** The messages that it depended on, as far as the recording contains them. */
  readonly causedBy: readonly MessageBrief[];
  /** The messages that named it as a cause. */
  readonly caused: readonly MessageBrief[];
}

/** One page of messages in the order of the broker. */
export interface MessagePage {
  readonly messages: readonly MessageBrief[];
  /** Pass it as `after` to get the following messages; missing at the end. */
  readonly next?: number;
}
