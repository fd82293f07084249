import type { WireMessage } from './transport.ts';

/** A message as stored in the node's record, or in a recording of it. */
export interface StoredMessage {
  /** The broker's sequence; increases within a recording. */
  readonly seq: number;
  /** When the broker stored it, in milliseconds since the Unix epoch. */
  readonly stored: number;
  readonly message: WireMessage;
}
