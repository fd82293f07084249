import { KubusError } from '@kubus/ports';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A connection on which the client requests another protocol than HTTP, and the first bytes of that protocol. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Answers a request with an upgrade by the same routes, and after the same checks, as any other request: a handler
 * takes over the connection with {@link takeUpgrade}, or answers, which ends the connection.
 */
export function serveUpgrade(
  request: IncomingMessage,
  upgrade: Upgrade,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const { socket } = upgrade;
  upgrades.set(request, upgrade);
  // A client that disconnects is noticed at the next write or read.
  socket.on('error', () => undefined);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  // The server no longer tracks this connection, and would not end it.
  response.once('finish', () => request.socket.destroySoon());
  serve(request, response);
}

/** Whether the client requests an upgrade. */
export function isUpgrade(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/** Takes over the connection of a request with an upgrade: no HTTP answer is written to it any more. */
export function takeUpgrade(request: IncomingMessage, response: ServerResponse): Upgrade {
  const upgrade = upgrades.get(request);
  if (upgrade === undefined) throw new KubusError('no-upgrade', 'the client has not requested an upgrade');
  // A client that has sent everything to a command still reads the output. Not before the upgrade: a client that
  // disconnects during the TLS handshake would never be noticed.
  upgrade.socket.allowHalfOpen = true;
  response.detachSocket(request.socket);
  return upgrade;
}
