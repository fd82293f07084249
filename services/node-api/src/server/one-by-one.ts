import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { serveUpgrade } from './upgrades.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Answers a server's requests with `serve`, upgrades too, and the requests of a connection one after another: Node.js
 * passes on every request that it has read, so for a client that sends many requests and reads no answers, all answers
 * would be produced and kept.
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
    // No client requests an upgrade before the last answer has arrived; Node.js cannot do both on one connection.
    if (newest.get(request.socket)?.closed === false) socket.destroy();
    else serveUpgrade(request, { socket, head }, serveNext);
  });
}
