import { type Envelope, type WireMessage, decodeEnvelope, parseTime } from '@kubus/bus';

/** A message of a node with its metadata. */
export interface RecordedMessage {
  readonly message: WireMessage;
  readonly envelope: Envelope;
  /** When it was published, milliseconds since the Unix epoch with a fraction. */
  readonly at: number;
}

/** Undefined for a message of another origin. */
export function recordedMessage(message: WireMessage): RecordedMessage | undefined {
  try {
    const envelope = decodeEnvelope(message.headers);
    return { message, envelope, at: parseTime(envelope.time) };
  } catch {
    return undefined;
  }
}
