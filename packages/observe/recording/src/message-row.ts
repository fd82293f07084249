import { type Envelope, type StoredMessage, decodeEnvelope, parseTime } from '@kubus/bus';
import type { MessageKind } from '@kubus/contracts/observatory';

/** The metadata of a message by which a recording finds it. */
export interface Stamp {
  readonly source: string;
  readonly epoch: number;
  readonly number: number;
  /** Of a reply, that of its command. */
  readonly type: string;
  readonly kind: MessageKind;
  readonly pod: string | undefined;
  readonly at: number;
  /** When the publisher received its first cause, if that came from another service. */
  readonly received: number | undefined;
  readonly causes: readonly MessageId[];
}

/** `<source>.<epoch>.<number>`, in its parts. */
export interface MessageId {
  readonly source: string;
  readonly epoch: number;
  readonly number: number;
}

/** Undefined for a message without a readable envelope. */
export function stampOf({ message: { headers } }: StoredMessage): Stamp | undefined {
  const envelope = readEnvelope(headers);
  if (envelope === undefined) return undefined;
  const at = parseTime(envelope.time);
  const kind = kindOf(envelope.type);
  if (kind === undefined || Number.isNaN(at)) return undefined;
  const { source, epoch, seq: number, pod } = envelope;
  const type = kind === 'reply' ? envelope.type.replace('.reply.', '.cmd.') : envelope.type;
  const causes = envelope.causes.map(parseId).filter((id) => id !== undefined);
  const received = envelope.received === undefined ? undefined : parseTime(envelope.received);
  return { source, epoch, number, type, kind, pod, at, received, causes };
}

/** Undefined for an invalid id. */
export function parseId(text: string): MessageId | undefined {
  const match = /^(.+)\.(\d{1,15})\.(\d{1,15})$/.exec(text);
  if (match?.[1] === undefined) return undefined;
  return { source: match[1], epoch: Number(match[2]), number: Number(match[3]) };
}

/** The second part of a type such as `worker.fact.status/1`. */
function kindOf(type: string): MessageKind | undefined {
  const [, kind] = type.split('.', 2);
  return kind === 'fact' || kind === 'cmd' || kind === 'event' || kind === 'reply' ? kind : undefined;
}

function readEnvelope(headers: Readonly<Record<string, string>>): Envelope | undefined {
  try {
    return decodeEnvelope(headers);
  } catch {
    return undefined;
  }
}
