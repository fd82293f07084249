import { objectReferenceSchema } from '@kubus/contracts';
import { KubeError, isOutage } from '@kubus/kube';
import {
  type Named,
  type ServiceAccount,
  type ServiceAccountToken,
  objectRoute,
  serviceAccountRoute,
  tokenQuestionSchema,
  tokenRoute,
} from '@kubus/object-socket';
import { type Logger, toError } from '@kubus/ports';
import { servePrivately } from '@kubus/service-kit';
import { type FastifyInstance, fastify } from 'fastify';
import * as z from 'zod';
import type { FollowedObjects } from './followed-objects.ts';
import { NoSuchPod, type Tokens } from '../accounts/tokens.ts';

/** An error answer; contains nothing of an object's content, and no token. */
interface Refusal {
  readonly status: number;
  readonly message: string;
}

type Result = { readonly text: string } | ServiceAccount | ServiceAccountToken | Refusal;

const namedSchema = z.object({ namespace: z.string(), name: z.string() });
const querySchema = z.object({ version: z.string() });

/** The values to serve. */
export interface ObjectServerOptions {
  readonly objects: Pick<FollowedObjects, 'read'>;
  readonly tokens: Pick<Tokens, 'get' | 'isHeld'>;
  readonly serviceAccounts: { get(account: Named): Promise<ServiceAccount> };
  readonly logger: Logger;
}

/** The socket that serves values (docs/object-socket.md), to the node's own user alone. */
export class ObjectServer {
  readonly #options: ObjectServerOptions;
  readonly #http: FastifyInstance = fastify({ logger: false });
  #listening: { close(): Promise<void> } | undefined;

  /** Serves on `socket`, which may be left over from an earlier process. */
  static async open(socket: string, options: ObjectServerOptions): Promise<ObjectServer> {
    const server = new ObjectServer(options);
    await server.#http.ready();
    server.#listening = await servePrivately(server.#http, socket);
    return server;
  }

  private constructor(options: ObjectServerOptions) {
    this.#options = options;
    const http = this.#http;
    // A parser's message may quote the body.
    http.setErrorHandler((_error, _request, reply) => reply.code(400).send({ message: 'not a valid request' }));
    this.#route('GET', objectRoute, ({ params, query }) => this.#object(params, query));
    this.#route('GET', serviceAccountRoute, ({ params }) => this.#serviceAccount(params));
    this.#route('POST', tokenRoute, ({ params, body }) => this.#token(params, body));
  }

  async close(): Promise<void> {
    await this.#listening?.close();
  }

  #route(
    method: 'GET' | 'POST',
    url: string,
    answer: (request: { params: unknown; query: unknown; body: unknown }) => Promise<Result> | Result,
  ): void {
    this.#http.route({
      method,
      url,
      handler: async (request, reply) => {
        const result = await answer(request);
        if ('status' in result) return reply.code(result.status).send({ message: result.message });
        return reply.type('application/json').send('text' in result ? result.text : result);
      },
    });
  }

  #object(params: unknown, query: unknown): Result {
    const reference = objectReferenceSchema.parse(params);
    const { version } = querySchema.parse(query);
    const object = this.#options.objects.read(reference);
    if (object === 'unread') return { status: 503, message: 'the object has not been read from the API server yet' };
    if (object === undefined) return { status: 404, message: 'the object does not exist' };
    if (object.version !== version) return { status: 409, message: `the object is at version ${object.version}` };
    return { text: object.text };
  }

  async #serviceAccount(params: unknown): Promise<Result> {
    const account = namedSchema.parse(params);
    if (!this.#options.tokens.isHeld(account)) return { status: 404, message: 'no pod of this node refers to it' };
    return this.#options.serviceAccounts.get(account).catch((error: unknown) => this.#refusal(error));
  }

  async #token(params: unknown, body: unknown): Promise<Result> {
    const account = namedSchema.parse(params);
    const question = tokenQuestionSchema.parse(body);
    return this.#options.tokens.get(account, question).catch((error: unknown) => this.#refusal(error));
  }

  #refusal(error: unknown): Refusal {
    if (error instanceof NoSuchPod) return { status: 404, message: error.message };
    if (!(error instanceof KubeError)) {
      this.#options.logger.error({ err: toError(error).message }, 'cannot answer a request');
      return { status: 500, message: 'object-cache has failed' };
    }
    return isOutage(error)
      ? { status: 503, message: 'the API server cannot be reached' }
      : { status: 403, message: error.said ?? error.message };
  }
}
