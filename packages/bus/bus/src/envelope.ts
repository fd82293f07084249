import { KubusError } from '@kubus/ports';
import type { WireMessage } from './transport.ts';

/** Header names. NATS distinguishes upper and lower case. */
export const HEADER = {
  type: 'Kubus-Type',
  source: 'Kubus-Source',
  epoch: 'Kubus-Epoch',
  seq: 'Kubus-Seq',
  time: 'Kubus-Time',
  node: 'Kubus-Node',
  pod: 'Kubus-Pod',
  causes: 'Kubus-Causes',
  /** When the publisher received the first of the causes; missing when that was one of its own messages. */
  received: 'Kubus-Heard',
  /** When the publisher began to work on that cause; missing if it did so at once. */
  began: 'Kubus-Began',
  trace: 'traceparent',
  /** Facts: the owner's counter; with the epoch it orders the values of one key. */
  version: 'Kubus-Version',
  /** Facts of a key that moves between instances: the term in which the owner owns it; see `FactOwner.claim`. */
  term: 'Kubus-Term',
  /** Facts: present on the mark that a key is removed. */
  removed: 'Kubus-Removed',
  /** Commands: `<fencing token>.<number>.<lowest number still open>`. */
  command: 'Kubus-Command',
  /** Commands: the epoch of the server that is to run it; void for each other one. */
  server: 'Kubus-Server',
  /** Replies: `accepted`, `attached`, `done`, `failed` or `refused`. */
  status: 'Kubus-Status',
} as const;

/** What a later message refers to as its cause. */
export interface Cause {
  /** `<source>.<epoch>.<seq>`: unique on a node. */
  readonly id: string;
  /** W3C trace id, 32 hexadecimal digits: the same from the first cause on. */
  readonly traceId: string;
  /** W3C span id of this message, 16 hexadecimal digits. */
  readonly spanId: string;
  /** When this process received it, in milliseconds since the Unix epoch; missing for its own messages. */
  readonly received?: number | undefined;
  /** When this process began to work on it after it had been queued; see {@link withStartTime}. */
  readonly began?: number | undefined;
}

/** The same cause with the time at which work on it began, where it had to be queued. */
export function withStartTime(cause: Cause, now: number): Cause {
  return { ...cause, began: now };
}

/** The metadata of every message (rule:causality). */
export interface Envelope {
  readonly type: string;
  /** The publishing instance, such as `pod-workers-0`. */
  readonly source: string;
  /** Increases with every start of the instance. */
  readonly epoch: number;
  /** The publisher's sequence number; a gap shows a loss. */
  readonly seq: number;
  /** RFC 3339, microseconds, UTC. */
  readonly time: string;
  readonly node: string;
  /** UID of the pod that the message is about. */
  readonly pod: string | undefined;
  /** Ids of the messages that it depended on, the last awaited first. */
  readonly causes: readonly string[];
  /** RFC 3339: when the publisher received the first cause. The time before it was spent on the bus, the time after it on work. */
  readonly received: string | undefined;
  /**
   * RFC 3339: when the publisher began to work on the first cause; undefined where the publisher did not report it. Never before
   * `received` nor after `time`.
   */
  readonly began: string | undefined;
  readonly cause: Cause;
}

/** Thrown when the headers of a message are missing or invalid. */
export class EnvelopeError extends KubusError {}

/** Milliseconds since the Unix epoch, with a fraction, as RFC 3339 with microseconds. */
export function formatTime(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.min(999, Math.floor((ms - whole) * 1000));
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** The inverse of {@link formatTime}. NaN when the text is not a time. */
export function parseTime(text: string): number {
  const match = /^(.*\.\d{3})(\d{3})Z$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return Date.parse(text);
  return Date.parse(`${match[1]}Z`) + Number(match[2]) / 1000;
}

export function encodeEnvelope(envelope: Envelope): Record<string, string> {
  const headers: Record<string, string> = {
    [HEADER.type]: envelope.type,
    [HEADER.source]: envelope.source,
    [HEADER.epoch]: String(envelope.epoch),
    [HEADER.seq]: String(envelope.seq),
    [HEADER.time]: envelope.time,
    [HEADER.node]: envelope.node,
    [HEADER.trace]: `00-${envelope.cause.traceId}-${envelope.cause.spanId}-01`,
  };
  if (envelope.pod !== undefined) headers[HEADER.pod] = envelope.pod;
  if (envelope.causes.length > 0) headers[HEADER.causes] = envelope.causes.join(',');
  if (envelope.received !== undefined) headers[HEADER.received] = envelope.received;
  if (envelope.began !== undefined) headers[HEADER.began] = envelope.began;
  return headers;
}

/**
 * Parses the headers of a message.
 *
 * @param at when it was delivered, in milliseconds since the Unix epoch; undefined if it does not become a cause
 * @throws EnvelopeError naming the first header that is missing or invalid
 */
export function decodeEnvelope(headers: Readonly<Record<string, string>>, at?: number): Envelope {
  const text = (name: string): string => {
    const value = headers[name];
    if (value === undefined || value === '') throw new EnvelopeError('bad-envelope', `header ${name} is missing`);
    return value;
  };
  const count = (name: string): number => {
    const value = Number(text(name));
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new EnvelopeError('bad-envelope', `header ${name} is not a whole number: ${text(name)}`);
    }
    return value;
  };
  const source = text(HEADER.source);
  const epoch = count(HEADER.epoch);
  const seq = count(HEADER.seq);
  const trace = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(text(HEADER.trace));
  if (trace?.[1] === undefined || trace[2] === undefined) {
    throw new EnvelopeError('bad-envelope', `header ${HEADER.trace} is not a W3C trace context`);
  }
  const causes = headers[HEADER.causes];
  const [time, received, began] = [text(HEADER.time), headers[HEADER.received], headers[HEADER.began]];
  if (began !== undefined) checkBegan(began, received, time);
  return {
    type: text(HEADER.type),
    source,
    epoch,
    seq,
    time,
    node: text(HEADER.node),
    pod: headers[HEADER.pod],
    causes: causes === undefined || causes === '' ? [] : causes.split(','),
    received,
    began,
    cause: { id: messageId(source, epoch, seq), traceId: trace[1], spanId: trace[2], received: at },
  };
}

/**
 * Another version of a payload has its own subject; a message on this one with another type is refused.
 *
 * @throws EnvelopeError naming both types
 */
export function checkType({ type }: Envelope, read: string): void {
  if (type !== read) throw new EnvelopeError('other-type', `the message is a ${type}, but ${read} is expected here`);
}

/**
 * Only a command has a reply subject. The broker adds one to a stored message that a consumer delivers, on whatever subject its reader
 * has named: such a copy of an earlier message is refused.
 *
 * @throws EnvelopeError naming both subjects
 */
export function checkNotRepeated({ subject, reply }: WireMessage): void {
  if (reply === undefined) return;
  throw new EnvelopeError(
    'repeated',
    `a stored message was delivered again on ${subject}, with the reply subject ${reply}`,
  );
}

/** A cause as text, to be carried by something that is not a message and returns to a service of the node. */
export function formatCause({ id, traceId, spanId }: Cause): string {
  return `${id} ${traceId} ${spanId}`;
}

/** The inverse of {@link formatCause}; undefined for any other text. */
export function parseCause(text: string): Cause | undefined {
  const match = /^(\S+\.\d+\.\d+) ([0-9a-f]{32}) ([0-9a-f]{16})$/.exec(text);
  const [, id, traceId, spanId] = match ?? [];
  return id === undefined || traceId === undefined || spanId === undefined ? undefined : { id, traceId, spanId };
}

function checkBegan(began: string, received: string | undefined, time: string): void {
  if (received === undefined) {
    throw new EnvelopeError('bad-envelope', `header ${HEADER.began} needs the header ${HEADER.received}`);
  }
  const at = parseTime(began);
  if (parseTime(received) <= at && at <= parseTime(time)) return;
  const limits = `${HEADER.received} (${received}) and ${HEADER.time} (${time})`;
  throw new EnvelopeError('bad-envelope', `header ${HEADER.began} is not a time between ${limits}: ${began}`);
}

export function messageId(source: string, epoch: number, seq: number): string {
  return `${source}.${epoch}.${seq}`;
}
