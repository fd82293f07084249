import { createHash, timingSafeEqual } from 'node:crypto';
import { httpServer, uploadLimits } from '@kubus/service-kit';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Handles a request that was allowed. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the page and its API on the loopback, which every user of the machine and every web page in its browsers can
 * reach. So the
 * API requires the token (`Authorization: Bearer`), and every request must have the loopback as its Host, which prevents
 * DNS rebinding.
 * The page's own files are public.
 *
 * @param port TCP port; 0: any free one
 * @throws the error of listen(2), such as EADDRINUSE
 */
export async function listenGuarded(
  port: number,
  token: string,
  answer: Answer,
): Promise<{ server: Server; port: number }> {
  const server = httpServer((request, response) => {
    const refusal = refusalOf(request, token);
    if (refusal === undefined) answer(request, response);
    else {
      const { status, code, message } = refusal;
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ error: { code, message } }));
    }
  }, uploadLimits);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Why a request is refused; undefined when it is allowed. */
export function refusalOf(request: Pick<IncomingMessage, 'headers' | 'url'>, token: string): Refusal | undefined {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (host !== '127.0.0.1' && host !== 'localhost') {
    return {
      status: 421,
      code: 'wrong-host',
      message: 'use http://127.0.0.1 or http://localhost: no other host name is served',
    };
  }
  // The page itself needs no token: the token is in the fragment (#) of its URL, which browsers do not send.
  if (!needsToken(request.url ?? '/')) return undefined;
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (isSame(given, token)) return undefined;
  return {
    status: 401,
    code: 'no-token',
    message: 'the token is missing or wrong: open the URL that "kubus observatory" printed',
  };
}

/** True for everything that a router could take for a path of the API: any path that is not plain. */
function needsToken(url: string): boolean {
  const [path = '/'] = url.split(/[?#]/, 1);
  return !/^\/(?!api(\/|$))([\w-][\w.-]*(\/[\w-][\w.-]*)*)?$/i.test(path);
}

/** Compares in constant time. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
