import { KubusError } from '@kubus/ports';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A connection that its client wants to speak something else over than HTTP, and what of that has come already. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Has a request with an upgrade answered by the same routes, and after the same checks, as any other one: a handler takes the
 * connection over with {@link takeUpgrade}, or answers, and then the connection ends.
 */
export function serveUpgrade(
  request: IncomingMessage,
  upgrade: Upgrade,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const { socket } = upgrade;
  upgrades.set(request, upgrade);
  // A client that goes away is noticed where something is written or read.
  socket.on('error', () => undefined);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  // The server does not know of this connection any more, and would not end it.
  response.once('finish', () => request.socket.destroySoon());
  serve(request, response);
}

/** Whether the client asks for an upgrade. */
export function isUpgrade(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/** Takes the connection of a request with an upgrade over: nothing is answered to it any more. */
export function takeUpgrade(request: IncomingMessage, response: ServerResponse): Upgrade {
  const upgrade = upgrades.get(request);
  if (upgrade === undefined) throw new KubusError('no-upgrade', 'the client has not asked for an upgrade');
  // A client that has sent everything to a command goes on reading what that writes. Not so before: a client that leaves
  // while its connection is being secured would never be gone.
  upgrade.socket.allowHalfOpen = true;
  response.detachSocket(request.socket);
  return upgrade;
}
