import { once } from 'node:events';
import type { RequestListener, Server as HttpServer } from 'node:http';
import { createServer } from 'node:http';
import { type AddressInfo, type Server, type Socket, createServer as createTcpServer } from 'node:net';

const open = new Set<Server>();
const sockets = new Set<Socket>();

/** Lets a server listen on loopback until {@link closeServers}; returns its port. */
export async function listen(server: Server): Promise<number> {
  open.add(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export function serveHttp(listener: RequestListener): Promise<number> {
  const server: HttpServer = createServer(listener);
  return listen(server);
}

export function serveTcp(onConnection: (socket: Socket) => void): Promise<number> {
  return listen(createTcpServer(onConnection));
}

/** A port on which no server listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  open.delete(server);
  server.close();
  await once(server, 'close');
  return port;
}

export async function closeServers(): Promise<void> {
  const ended = [...open].map((server) => once(server.close(), 'close'));
  for (const socket of sockets) socket.destroy();
  open.clear();
  await Promise.all(ended);
}

/** A promise and the function that fulfils it. */
export function signal(): { readonly seen: Promise<void>; readonly see: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { seen: promise, see: () => resolve(undefined) };
}
