import { nodeAdmin } from '@kubus/node-requests';
import type { FastifyInstance } from 'fastify';
import { createServer } from 'node:http';
import type { Guard } from './app.ts';
import { serveOneByOne } from './one-by-one.ts';
import { servePrivately } from '@kubus/service-kit';
import { type Listening, limits } from './servers.ts';

/** A client that can open the socket owns the node: the socket gives it no further rights. */
export const ownersGuard: Guard = {
  authentication: { authenticate: () => Promise.resolve(nodeAdmin) },
  authorization: { refusal: () => Promise.resolve(undefined) },
};

/** Serves on a unix socket that only the node's own user may open; replaces one that an earlier process left. */
export async function listenOwners(app: FastifyInstance, path: string): Promise<Pick<Listening, 'close'>> {
  const server = createServer(limits);
  serveOneByOne(server, (request, response) => app.routing(request, response));
  return servePrivately(app, path, server);
}
