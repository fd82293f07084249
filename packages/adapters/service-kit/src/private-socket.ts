import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { httpServer } from './http-server.ts';

/** Makes a server listen on a unix socket that only the node's own user may open; replaces a leftover one. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  // A socket is created with the permissions that the umask allows: until its mode is set, its folder keeps others out.
  const folder = `${path}.new`;
  const made = join(folder, 's');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  server.listen(made);
  await once(server, 'listening');
  await chmod(made, 0o600);
  await rename(made, path);
  await rm(folder, { recursive: true });
}

/** Serves an app on {@link listenPrivately}'s socket. `close` ends its connections, removes the socket and closes the app. */
export async function servePrivately(
  app: FastifyInstance,
  path: string,
  server: HttpServer = httpServer((request, response) => app.routing(request, response)),
): Promise<{ close(): Promise<void> }> {
  await listenPrivately(server, path);
  return {
    close: async () => {
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
      await rm(path, { force: true });
      await app.close();
    },
  };
}
