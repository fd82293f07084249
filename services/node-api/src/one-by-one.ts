import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { serveUpgrade } from './upgrades.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Has a server's requests answered by `serve`, those that ask for an upgrade too, and what comes on a connection one after
 * the other: Node hands over every request that it has read, and a client that asks for much and reads nothing would have
 * all of it made and kept.
 */
export function serveOneByOne(server: Server | SecureServer, serve: Serve): void {
  /** The answer to the newest request of each connection. */
  const newest = new WeakMap<Socket, ServerResponse>();
  const serveNext = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const before = newest.get(socket);
    newest.set(socket, response);
    if (before === undefined || before.closed) serve(request, response);
    else {
      before.once('close', () => {
        if (socket.destroyed) response.destroy();
        else serve(request, response);
      });
    }
  };
  server.on('request', serveNext);
  server.on('upgrade', (request, socket, head) => {
    // Nobody asks for something else before the last answer is there; Node can not have both on one connection.
    if (newest.get(request.socket)?.closed === false) socket.destroy();
    else serveUpgrade(request, { socket, head }, serveNext);
  });
}
