import type { Envelope, WireMessage } from '@kubus/bus';
import { fromNats, nodeSubject } from '@kubus/bus-nats';
import { recordedMessage } from '@kubus/causality';
import { type NodeEvent, type PodEvent, bareType, nodeEventSchema, podEventSchema } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';

/** A message received from the bus. */
export interface NodeMessage {
  readonly message: WireMessage;
  /** Undefined for one that does not follow the contract. */
  readonly envelope: Envelope | undefined;
  /** When it was published, or received if it has no time: milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Types of the Kubernetes events about pods, and about the node. */
const podEventTypes = ['worker', 'config', 'probe', 'volume'].map((area) => `${area}.event.recorded`);
const nodeEventTypes = [
  'node.event.recorded',
  ...['config', 'node', 'runtime', 'worker'].map((area) => `${area}.event.nodeRecorded`),
];

/** Every message of a node from now on, while the connection lasts. */
export class NodeMessages {
  readonly all: NodeMessage[] = [];
  readonly #podEvents: PodEvent[] = [];
  readonly #listeners = new Set<(message: NodeMessage) => void>();

  constructor(connection: NatsConnection, node: string) {
    connection.subscribe(nodeSubject(node, '>'), {
      callback: (error, wire) => {
        if (error === null) this.#take(fromNats(wire));
      },
    });
  }

  /** Calls `listener` with each message. Call the returned function to end it. */
  listen(listener: (message: NodeMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The Kubernetes events about pods, or one pod, oldest first. */
  podEvents(uid?: string): PodEvent[] {
    return this.#podEvents.filter(({ ref }) => uid === undefined || ref.uid === uid);
  }

  /** The Kubernetes events about the node, oldest first. */
  nodeEvents(): NodeEvent[] {
    return this.ofType(...nodeEventTypes).map(({ message }) => nodeEventSchema.parse(JSON.parse(message.data)));
  }

  /** Messages of these types (without their version), oldest first. */
  ofType(...types: string[]): NodeMessage[] {
    return this.all.filter(({ envelope }) => envelope !== undefined && types.includes(bareType(envelope.type)));
  }

  #take(message: WireMessage): void {
    const { envelope, at = Date.now() } = recordedMessage(message) ?? {};
    const taken = { message, envelope, at };
    this.all.push(taken);
    if (envelope !== undefined && podEventTypes.includes(bareType(envelope.type))) {
      this.#podEvents.push(podEventSchema.parse(JSON.parse(message.data)));
    }
    for (const listener of [...this.#listeners]) listener(taken);
  }
}
