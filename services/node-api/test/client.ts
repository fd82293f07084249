import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { type Agent, request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** The options of a request. */
export interface Ask {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A client certificate and its key, PEM. */
  readonly certificate?: { readonly certificate: string; readonly key: string };
  /** Left out: each request has a connection of its own. */
  readonly agent?: Agent;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Without TLS. */
  readonly plain?: boolean;
  /** The protocol to upgrade to; a server that accepts is answered by ending the connection. */
  readonly upgrade?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** Sends a request to 127.0.0.1 and resolves with the answer's head; the body is read by the caller. */
export async function begin(port: number, path: string, ask: Ask = {}): Promise<IncomingMessage> {
  const { method = 'GET', token, headers, certificate, agent, body, signal, plain, upgrade } = ask;
  const options = {
    ...{ host: '127.0.0.1', port, path, method },
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(upgrade !== undefined && { connection: 'Upgrade', upgrade }),
    },
    ...(signal !== undefined && { signal }),
  };
  const asking =
    plain === true
      ? plainRequest({ ...options, agent: false })
      : secureRequest({
          ...options,
          agent: agent ?? false,
          rejectUnauthorized: false,
          ...(certificate !== undefined && { cert: certificate.certificate, key: certificate.key }),
        });
  // A second error, such as that of a connection that is cut off twice, adds nothing.
  asking.on('error', () => undefined);
  asking.once('upgrade', (response: IncomingMessage, socket: Duplex) => {
    socket.destroy();
    asking.emit('response', response);
  });
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  return response;
}

/** The whole answer. */
export async function get(port: number, path: string, ask: Ask = {}): Promise<Answer> {
  const response = await begin(port, path, ask);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: response.headers };
}
