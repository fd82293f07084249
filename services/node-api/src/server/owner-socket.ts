import { nodeAdmin } from '@kubus/node-requests';
import type { FastifyInstance } from 'fastify';
import type { Guard } from './app.ts';
import { serveOneByOne } from './one-by-one.ts';
import { httpServer, servePrivately } from '@kubus/service-kit';
import { type Listening, streamLimits } from './servers.ts';

/** A client that can open the socket owns the node: the socket gives it no further rights. */
export const ownersGuard: Guard = {
  authentication: { authenticate: () => Promise.resolve(nodeAdmin) },
  authorization: { refusal: () => Promise.resolve(undefined) },
};

/** Serves on a unix socket that only the node's own user may open; replaces one that an earlier process left. */
export async function listenOwners(app: FastifyInstance, path: string): Promise<Pick<Listening, 'close'>> {
  const server = httpServer(undefined, streamLimits);
  serveOneByOne(server, (request, response) => app.routing(request, response));
  return servePrivately(app, path, server);
}
