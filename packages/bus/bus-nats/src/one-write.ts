import type { NatsConnection } from '@nats-io/nats-core';

/** The part of the library's connection that writes, which its public interface does not contain. */
interface Writing {
  readonly protocol: {
    readonly outbound: { size(): number };
    readonly pendingLimit: number;
    flushPending(): void;
    close(error?: Error): Promise<void>;
  };
}

/**
 * Makes a connection write once for each turn of the event loop, in the same order. By itself the library writes whenever promises have
 * run, which is many times a turn.
 */
export function writeOncePerTurn(connection: NatsConnection): void {
  const { protocol } = connection as NatsConnection & Writing;
  const flush = protocol.flushPending.bind(protocol);
  const close = protocol.close.bind(protocol);
  let due: NodeJS.Immediate | undefined;
  const write = () => {
    clearImmediate(due);
    due = undefined;
    flush();
  };
  protocol.flushPending = () => {
    if (protocol.outbound.size() >= protocol.pendingLimit) write();
    else due ??= setImmediate(write);
  };
  protocol.close = (error) => {
    write();
    return close(error);
  };
}
