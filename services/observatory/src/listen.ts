import { listenPrivately } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';

/** Serves on a unix socket that the node's own user alone may open. */
export async function listenOwners(app: FastifyInstance, path: string): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => app.routing(request, response));
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
