import { toError } from '@kubus/ports';
import { SpdySession } from './spdy/spdy-session.ts';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { NodeClientError } from './node-client-error.ts';

/** A query; a parameter may occur several times. */
export type QueryParameters = readonly (readonly [name: string, value: string])[];

/** A path with escaped parts, with its query. */
export function apiPath(parts: readonly string[], query: QueryParameters = []): string {
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join('');
  const search = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Requests streams from a streaming server or its proxy. */
export interface StreamClient {
  upgrade(path: string, protocol: string): Promise<SpdySession>;
}

/** A client of the node's API on its unix socket (`server.socket` of the node's configuration), with full access. */
export class NodeClient implements StreamClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Requests a document. Rejects with a {@link NodeClientError}. */
  async get(path: string): Promise<string> {
    return await text(await this.begin(path));
  }

  /** Requests a document that may be long; the caller reads the response, which ends with an error if it is cut off. */
  begin(path: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const asking = request({ socketPath: this.#socketPath, path, agent: false });
      asking.on('error', (error) => reject(this.#unreachable(error)));
      asking.on('response', (answer) => {
        if (answer.statusCode === 200) resolve(answer);
        else void refusal(answer).then(reject);
      });
      asking.end();
    });
  }

  /** Requests streams over SPDY/3.1, which every version of the container runtimes' streaming servers speaks. */
  upgrade(path: string, protocol: string): Promise<SpdySession> {
    return upgrade({ socketPath: this.#socketPath, path }, protocol, (error) => this.#unreachable(error));
  }

  #unreachable(cause: NodeJS.ErrnoException): NodeClientError {
    const at = this.#socketPath;
    if (cause.code === 'EACCES') {
      return new NodeClientError('not-allowed', `${at} belongs to root: run this with sudo`, { cause });
    }
    if (cause.code === 'ENOENT' || cause.code === 'ECONNREFUSED') {
      return new NodeClientError('not-running', `no node is running at ${at}: start it with ./kubus up`, { cause });
    }
    return new NodeClientError('broken', `the node’s API at ${at} does not answer: ${cause.message}`, { cause });
  }
}

/** A client of a container runtime's streaming server. Ends its connection when `signal` is aborted. */
export class StreamingServer implements StreamClient {
  readonly #url: URL;
  readonly #signal: AbortSignal;

  constructor(url: URL, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  /** @param path of a stream that the runtime has prepared, which serves once */
  upgrade(path: string, protocol: string): Promise<SpdySession> {
    const { hostname: host, port } = this.#url;
    return upgrade({ host, port, path, signal: this.#signal }, protocol, (cause) => {
      return new NodeClientError('broken', `the runtime’s streaming server does not answer: ${cause.message}`, {
        cause,
      });
    });
  }
}

function upgrade(
  to: RequestOptions,
  protocol: string,
  unreachable: (error: NodeJS.ErrnoException) => NodeClientError,
): Promise<SpdySession> {
  return new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol };
    const asking = request({ ...to, method: 'POST', headers, agent: false });
    asking.on('error', (error) => reject(unreachable(error)));
    asking.on('response', (answer) => void refusal(answer).then(reject));
    asking.on('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      const session = new SpdySession(socket, head);
      if (answer.headers['x-stream-protocol-version'] === protocol) resolve(session);
      else void session.close().then(() => reject(new NodeClientError('refused', `the runtime has no ${protocol}`)));
    });
    asking.end();
  });
}

async function refusal(answer: IncomingMessage): Promise<NodeClientError> {
  const { statusCode: status = 0 } = answer;
  const said = await text(answer).catch((error: unknown) => toError(error).message);
  const message = said.trim() === '' ? `the node’s API answers ${status}` : said.trim();
  return new NodeClientError('refused', message, { context: { status } });
}
