import { faultRuleSchema } from '@kubus/contracts';
import {
  type FaultsDocument,
  disturbedNameSchema,
  newFaultSchema,
  newServiceFaultSchema,
} from '@kubus/contracts/observatory';
import type { Ids } from '@kubus/ports';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Faults } from './faults.ts';
import { parsed } from './queries.ts';
import { RequestError } from './recordings.ts';

/** Random bytes in the name of a rule that was declared without a name. */
const NAME_BYTES = 3;

export interface FaultRoutes {
  /** Path of the API. */
  readonly root: string;
  /** The running node; undefined when the observatory only reads files. */
  readonly node: string | undefined;
  /** Undefined when the node was started without faults. */
  readonly faults: Faults | undefined;
  readonly ids: Ids;
}

/** Routes for the faults of the node: list them, add one, remove one or all. */
export function addFaults(app: FastifyInstance, { root, node, faults, ids }: FaultRoutes): void {
  const present = (request: FastifyRequest): Faults => {
    if (faults !== undefined) return faults;
    throw node === undefined ? onlyFiles(request) : withoutFaults(node);
  };
  app.get(`${root}/faults`, (request): FaultsDocument => present(request).list());
  app.post(`${root}/faults`, async (request, reply) => {
    const known = present(request);
    const { id, ...rule } = parsed(newFaultSchema, request.body);
    return reply.code(201).send(await known.inject({ id: id ?? `${rule.what.kind}-${ids.hex(NAME_BYTES)}`, ...rule }));
  });
  app.delete(`${root}/faults`, async (request) => ({ cleared: await present(request).clear() }));
  app.delete(`${root}/faults/:id`, async (request, reply) => {
    const known = present(request);
    const { id } = parsed(byId, request.params);
    if ((await known.clear(id)).length > 0) return reply.code(204).send();
    throw new RequestError(404, 'no-fault', `there is no fault "${id}" on this node`);
  });
  app.post(`${root}/services/:service/fault`, async (request) => {
    const known = present(request);
    const { service } = parsed(byService, request.params);
    const instances = await known.disturb(service, parsed(newServiceFaultSchema, request.body));
    if (instances.length > 0) return { instances };
    throw new RequestError(404, 'no-service', `no service "${service}" runs on this node`);
  });
}

const byId = z.object({ id: faultRuleSchema.shape.id });
const byService = z.object({ service: disturbedNameSchema });

function withoutFaults(node: string): RequestError {
  const how = 'start it with ./kubus up --observatory --faults';
  return new RequestError(409, 'no-faults', `node ${node} was started without faults: ${how}`);
}

function onlyFiles({ method }: FastifyRequest): RequestError {
  const message = 'these recordings are files; there is no node to disturb';
  return method === 'GET' ? new RequestError(404, 'no-node', message) : new RequestError(405, 'only-files', message);
}
