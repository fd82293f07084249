import { nodeAdmin } from '@kubus/node-authorization';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Guard } from './app.ts';
import { serveOneByOne } from './one-by-one.ts';
import { listenPrivately } from '@kubus/service-kit';
import { type Listening, limits } from './servers.ts';

/** Whoever can open the socket owns the node: there is nothing that they could not do without it. */
export const ownersGuard: Guard = {
  authentication: { authenticate: () => Promise.resolve(nodeAdmin) },
  authorization: { refusal: () => Promise.resolve(undefined) },
};

/** Serves on a unix socket that the node's own user alone may open, in the place of one that an earlier life left. */
export async function listenOwners(app: FastifyInstance, path: string): Promise<Pick<Listening, 'close'>> {
  const server = createServer(limits);
  serveOneByOne(server, (request, response) => app.routing(request, response));
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
