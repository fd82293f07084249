import { type RequestOptions, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { UserError } from '../user-error.ts';

const ROOT = '/api/v1';

/** Asks the observatory of a node on its unix socket. Everything rejects with a {@link UserError}. */
export class ObservatoryClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Asks for a document, or sends one. */
  async call<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = sent === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await text(await this.#ask({ method, path, headers }, sent === undefined ? undefined : [sent]));
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }

  /** Asks for something long. */
  read(path: string): Promise<IncomingMessage> {
    return this.#ask({ method: 'GET', path });
  }

  /** Sends a file. */
  async send<T>(path: string, file: Readable): Promise<T> {
    const headers = { 'content-type': 'application/octet-stream' };
    return JSON.parse(await text(await this.#ask({ method: 'PUT', path, headers }, file))) as T;
  }

  #ask({ path = '', ...options }: RequestOptions, body?: Iterable<string> | Readable): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const asking = request({ ...options, socketPath: this.#socketPath, path: `${ROOT}${path}`, agent: false });
    asking.on('error', (error: NodeJS.ErrnoException) => reject(this.#unreachable(error)));
    asking.on('response', (answer) => {
      const { statusCode = 0 } = answer;
      if (statusCode < 300) resolve(answer);
      else void refusal(answer).then(reject);
    });
    // Who refuses a file answers before it has read all of it: the answer counts, not the connection that breaks off.
    if (body === undefined) asking.end();
    else pipeline(Readable.from(body), asking).catch(() => undefined);
    return promise;
  }

  #unreachable(cause: NodeJS.ErrnoException): UserError {
    if (cause.code === 'EACCES') return new UserError(`${this.#socketPath} belongs to root: run this with sudo`);
    return new UserError(`the observatory at ${this.#socketPath} does not answer: ${cause.message}`);
  }
}

/** The path of a recording, or of something of it. */
export function recordingPath(name: string, ...more: readonly string[]): string {
  return ['/recordings', ...[name, ...more].map(encodeURIComponent)].join('/');
}

async function refusal(answer: IncomingMessage): Promise<UserError> {
  const said = await text(answer).catch(() => '');
  try {
    const { error } = JSON.parse(said) as { error: { message: string } };
    return new UserError(error.message);
  } catch {
    return new UserError(`the observatory answers ${answer.statusCode ?? 0} ${said}`.trim());
  }
}
