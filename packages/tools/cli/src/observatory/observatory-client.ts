import { type RequestOptions, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { UserError } from '../user-error.ts';

const ROOT = '/api/v1';

/** A client of a node's observatory on its unix socket. Every failure is a {@link UserError}. */
export class ObservatoryClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Sends a request with an optional JSON body, and returns the JSON answer. */
  async call<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = sent === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await text(await this.#ask({ method, path, headers }, sent === undefined ? undefined : [sent]));
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }

  /** Sends a GET and returns the answer as a stream. */
  read(path: string): Promise<IncomingMessage> {
    return this.#ask({ method: 'GET', path });
  }

  /** Sends a file with PUT, and returns the JSON answer. */
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
    // A server that refuses a file answers before it has read it all: the answer counts, not the broken connection.
    if (body === undefined) asking.end();
    else pipeline(Readable.from(body), asking).catch(() => undefined);
    return promise;
  }

  #unreachable(cause: NodeJS.ErrnoException): UserError {
    if (cause.code === 'EACCES')
      return new UserError(`permission denied on ${this.#socketPath}: run the command with sudo`);
    return new UserError(`the observatory at ${this.#socketPath} does not answer: ${cause.message}`);
  }
}

/** The API path of a recording, or of one of its parts. */
export function recordingPath(name: string, ...more: readonly string[]): string {
  return ['/recordings', ...[name, ...more].map(encodeURIComponent)].join('/');
}

async function refusal(answer: IncomingMessage): Promise<UserError> {
  const body = await text(answer).catch(() => '');
  try {
    const { error } = JSON.parse(body) as { error: { message: string } };
    return new UserError(error.message);
  } catch {
    return new UserError(`the observatory answers ${answer.statusCode ?? 0} ${body}`.trim());
  }
}
