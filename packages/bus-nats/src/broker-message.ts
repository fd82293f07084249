import type { WireMessage } from '@kubus/bus';
import type { Msg } from '@nats-io/nats-core';
import { fromNats } from './nats-transport.ts';

/** A message as the broker keeps it. */
export interface BrokerMessage {
  /** The broker's sequence. */
  readonly seq: number;
  /** When it was stored, milliseconds since the Unix epoch with a fraction of microseconds. */
  readonly stored: number;
  readonly message: WireMessage;
}

/** A message that a consumer has delivered, and its number among those. Undefined when it is none. */
export function deliveredMessage(delivered: Msg): { message: BrokerMessage; number: number } | undefined {
  const place = placeOf(delivered.reply ?? '');
  if (place === undefined) return undefined;
  const { seq, stored, number } = place;
  // Without the subject for acknowledgements, which is no part of the message.
  const { subject, headers, data } = fromNats(delivered);
  return { message: { seq, stored, message: { subject, headers, data } }, number };
}

/**
 * Where a delivered message stands, from its subject for acknowledgements (ADR-15):
 * `$JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<delivered>.<nanoseconds>.<pending>`, with a domain and an account after
 * the first two parts where servers have such.
 */
function placeOf(reply: string): { seq: number; number: number; stored: number } | undefined {
  const parts = reply.split('.');
  if (parts[0] !== '$JS' || parts[1] !== 'ACK' || parts.length < 9) return undefined;
  const [seq, number, time] = parts.slice(parts.length === 9 ? 5 : 7);
  if (time === undefined || !/^\d+$/.test(time)) return undefined;
  return { seq: Number(seq), number: Number(number), stored: Number(BigInt(time) / 1000n) / 1000 };
}
