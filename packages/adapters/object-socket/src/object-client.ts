import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ObjectVersion, objectKey } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import type * as z from 'zod';
import { type ObjectData, apiObjectSchema, objectData } from './api-object.ts';
import { ObjectError } from './object-error.ts';
import { type Named, objectPath, serviceAccountPath, tokenPath } from './object-path.ts';
import {
  type ServiceAccount,
  type ServiceAccountToken,
  type TokenQuestion,
  refusalSchema,
  serviceAccountSchema,
  serviceAccountTokenSchema,
} from './service-account.ts';

/** How long object-cache may take to answer from memory, in milliseconds. */
const MEMORY_LIMIT_MS = 10_000;
/** As above, for requests that it may forward to the API server. */
const API_LIMIT_MS = 40_000;

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly limitMs: number;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Reads the values of objects and tokens from object-cache's socket (docs/object-socket.md). */
export class ObjectClient {
  readonly #socket: string;

  /** @param socket the path of object-cache's socket. */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /** The object as it is at this version. Throws {@link ObjectError}. */
  async read(object: ObjectVersion): Promise<ObjectData> {
    const name = objectKey(object);
    const answer = await this.#call({ method: 'GET', path: objectPath(object), limitMs: MEMORY_LIMIT_MS });
    if (answer.status === 404 || answer.status === 409) {
      throw new ObjectError('ObjectChanged', `${name} is no longer at version ${object.version}`);
    }
    const data = objectData(parse(apiObjectSchema, answer, name));
    if (data.version !== object.version) throw notUnderstood(name);
    return data;
  }

  /** A service account of a pod of this node. Throws {@link ObjectError}. */
  async serviceAccount(account: Named): Promise<ServiceAccount> {
    const answer = await this.#call({ method: 'GET', path: serviceAccountPath(account), limitMs: API_LIMIT_MS });
    return parse(serviceAccountSchema, answer, textOf(account));
  }

  /** A token of the service account of a pod of this node. Throws {@link ObjectError}. */
  async token(account: Named, question: TokenQuestion): Promise<ServiceAccountToken> {
    const call = { method: 'POST', path: tokenPath(account), body: question, limitMs: API_LIMIT_MS } as const;
    return parse(serviceAccountTokenSchema, await this.#call(call), `the token of ${textOf(account)}`);
  }

  async #call({ method, path, body, limitMs }: Call): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(limitMs);
    const call = request({ socketPath: this.#socket, method, path, headers, agent: false, signal });
    // A truncated response is detected where it is read.
    call.on('error', () => undefined);
    call.end(body === undefined ? undefined : JSON.stringify(body));
    try {
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch (error) {
      throw new ObjectError('ObjectsUnavailable', `object-cache cannot be reached: ${toError(error).message}`, error);
    }
  }
}

/** The errors of the parsers would contain parts of the body. */
function parse<T>(schema: z.ZodType<T>, { status, body }: Answer, what: string): T {
  if (status === 403) throw new ObjectError('Refused', refusal(body) ?? `${what} is refused`);
  if (status !== 200) throw new ObjectError('ObjectsUnavailable', `object-cache answers ${status} for ${what}`);
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    throw notUnderstood(what);
  }
  const parsed = schema.safeParse(document);
  if (!parsed.success) throw notUnderstood(what);
  return parsed.data;
}

function refusal(body: string): string | undefined {
  try {
    return refusalSchema.parse(JSON.parse(body)).message;
  } catch {
    return undefined;
  }
}

function notUnderstood(what: string): ObjectError {
  return new ObjectError('ObjectsUnavailable', `object-cache’s response for ${what} is invalid`);
}

function textOf({ namespace, name }: Named): string {
  return `ServiceAccount/${namespace}/${name}`;
}
