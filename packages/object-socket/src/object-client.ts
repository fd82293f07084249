import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ObjectVersion, objectKey } from '@kubus/contracts';
import { KubusError, toError } from '@kubus/ports';
import { type ObjectData, apiObjectSchema, objectData } from './api-object.ts';
import { objectPath } from './object-path.ts';

/** How long object-cache may take to answer, in milliseconds: it does so from memory. */
const LIMIT_MS = 10_000;

/**
 * An object's values can not be had now. `ObjectChanged`: not at this version any more; the object's fact tells the
 * present one. `ObjectsUnavailable`: object-cache can not be asked. No text of it holds any of the object's content.
 */
export class ObjectError extends KubusError {
  constructor(code: 'ObjectChanged' | 'ObjectsUnavailable', message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}

/** Reads the values of objects from object-cache's socket (docs/object-socket.md). */
export class ObjectClient {
  readonly #socket: string;

  /** @param socket the path of object-cache's socket. */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /** The object as it is at this version. Throws {@link ObjectError}. */
  async read(object: ObjectVersion): Promise<ObjectData> {
    const name = objectKey(object);
    const { status, body } = await this.#get(objectPath(object));
    if (status === 404 || status === 409) {
      throw new ObjectError('ObjectChanged', `${name} is not at version ${object.version} any more`);
    }
    if (status !== 200) throw new ObjectError('ObjectsUnavailable', `object-cache answers ${status} for ${name}`);
    const data = parse(body);
    if (data?.version !== object.version) {
      throw new ObjectError('ObjectsUnavailable', `object-cache’s answer for ${name} is not understood`);
    }
    return data;
  }

  async #get(path: string): Promise<{ status: number; body: string }> {
    const call = request({ socketPath: this.#socket, path, agent: false, signal: AbortSignal.timeout(LIMIT_MS) });
    // An answer that breaks off is noticed where it is read.
    call.on('error', () => undefined);
    call.end();
    try {
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch (error) {
      throw new ObjectError('ObjectsUnavailable', `object-cache can not be asked: ${toError(error).message}`, error);
    }
  }
}

/** Undefined for what is no such object. The parsers' own errors would show parts of it. */
function parse(body: string): ObjectData | undefined {
  try {
    return objectData(apiObjectSchema.parse(JSON.parse(body)));
  } catch {
    return undefined;
  }
}
