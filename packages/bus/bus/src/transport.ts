import { type Cancel, KubusError } from '@kubus/ports';
import type { Payload } from './payload.ts';

/** A message in the form in which a transport carries it. */
export interface WireMessage extends Payload {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The subject on which the sender expects answers. */
  readonly reply?: string;
}

/** Thrown when a message is larger than a limit of the broker: it fails whenever it is sent. */
export class MessageTooLarge extends KubusError {}

/** A value of a fact, or the mark that it is removed. */
export type FactMessage = Omit<WireMessage, 'subject' | 'reply'>;

export interface FactListener {
  message(message: WireMessage): void;
  /** Every fact that was stored when the watch was opened has been delivered. */
  present(): void;
}

/**
 * What the bus requires of its transport of messages: NATS in a node, memory with a virtual clock in the simulation.
 *
 * Delivery is at most once while connected. A transport that may have lost something reports that it is disconnected and
 * then connected again; owners then publish all their facts again and readers open their watches again.
 */
export interface Transport {
  /** Messages of this process can be delivered to others of its services as values; see {@link Payload}. Default: false. */
  readonly keepsValues?: boolean;
  /** True while messages are delivered and the fact store answers. */
  readonly connected: boolean;
  /** Calls the listener with each change of {@link connected}. */
  onConnection(listener: (connected: boolean) => void): Cancel;
  /** Sends without waiting. Lost when not connected. Throws {@link MessageTooLarge}. */
  publish(message: WireMessage): void;
  /** Delivers matching messages until cancelled, across reconnections. Facts are delivered only by {@link watchFacts}. */
  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel;
  /** Stores the last value of `key` (a subject without `kubus.<node>.`); resolves when it is stored. Rejects with {@link MessageTooLarge}. */
  storeFact(key: string, fact: FactMessage): Promise<void>;
  /** Delivers the stored facts under `pattern`, then changes. Ends silently when the connection is lost. */
  watchFacts(pattern: string, listener: FactListener): Cancel;
}
