import { type StoredMessage, parseTime } from '@kubus/bus';
import { instanceOfSource, serviceNames } from '@kubus/contracts';
import type { MessageBrief, MessageKind } from '@kubus/contracts/observatory';
import { type RecordedMessage, recordedMessage } from './recorded-message.ts';
import { payloadOf, summarise } from './summary.ts';

/** A brief with the message that it was made from. */
export interface ReadMessage {
  readonly brief: MessageBrief;
  readonly recorded: RecordedMessage;
  readonly payload: unknown;
}

/** A recorded message without its payload. Undefined for one of another node or without a valid envelope. */
export function briefOf(stored: StoredMessage): MessageBrief | undefined {
  return readMessage(stored)?.brief;
}

/** As {@link briefOf}, for callers that need the payload too. */
export function readMessage(stored: StoredMessage): ReadMessage | undefined {
  const recorded = recordedMessage(stored.message);
  const kind = recorded && kindOf(recorded.envelope.type);
  if (recorded === undefined || kind === undefined) return undefined;
  const { message, envelope, at } = recorded;
  const payload = payloadOf(message);
  const brief: MessageBrief = {
    seq: stored.seq,
    id: envelope.cause.id,
    subject: message.subject,
    type: kind === 'reply' ? envelope.type.replace('.reply.', '.cmd.') : envelope.type,
    kind,
    source: instanceOfSource(envelope.source),
    service: serviceOf(envelope.source),
    at,
    stored: stored.stored,
    ...(envelope.received !== undefined && { heard: parseTime(envelope.received) }),
    ...(envelope.began !== undefined && { began: parseTime(envelope.began) }),
    ...(envelope.pod !== undefined && { pod: envelope.pod }),
    causes: envelope.causes,
    summary: summarise(message, payload),
    bytes: byteLength(message.data),
  };
  return { brief, recorded, payload };
}

/** The service of a source: `pod-workers` of `pod-workers-0`. For an undeclared service, the name up to the last dash. */
export function serviceOf(source: string): string {
  const known = services.get(source);
  if (known !== undefined) return known;
  const instance = instanceOfSource(source);
  const declared = serviceNames.find((name) => instance === name || instance.startsWith(`${name}-`));
  const service = declared ?? instance.replace(/-[^-]*$/, '');
  // Command line programs have a new name each time, so the cache is bounded.
  if (services.size < 1_000) services.set(source, service);
  return service;
}

const services = new Map<string, string>();

const kinds: readonly string[] = ['fact', 'cmd', 'event', 'reply'] satisfies MessageKind[];

/** The second part of a type such as `worker.fact.status/1`. */
function kindOf(type: string): MessageKind | undefined {
  const kind = type.split('.', 2)[1];
  return kind !== undefined && kinds.includes(kind) ? (kind as MessageKind) : undefined;
}

/** Length in UTF-8. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Two UTF-16 units of a pair make four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
