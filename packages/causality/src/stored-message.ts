import type { WireMessage } from '@kubus/bus';

/** A message as a recording holds it. */
export interface StoredMessage {
  /** The broker's sequence; grows within a recording. */
  readonly seq: number;
  /** When the broker had stored it, milliseconds since the Unix epoch. */
  readonly stored: number;
  readonly message: WireMessage;
}
