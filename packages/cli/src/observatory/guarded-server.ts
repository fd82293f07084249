import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Answers a request that may be answered. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Listens on the loopback for the page and its API. Everybody on the machine, and every page in a browser there, can reach
 * that: the API answers only who has the token (`Authorization: Bearer`), and nothing answers who came by another name than
 * the loopback's, which keeps out names that were made to point here. The page's own files are no secret.
 */
export async function listenGuarded(
  port: number,
  token: string,
  answer: Answer,
): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, token);
    if (refusal === undefined) answer(request, response);
    else {
      const { status, code, message } = refusal;
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ error: { code, message } }));
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Undefined when the request may be answered. */
export function refusalOf(request: Pick<IncomingMessage, 'headers' | 'url'>, token: string): Refusal | undefined {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (host !== '127.0.0.1' && host !== 'localhost') {
    return { status: 421, code: 'wrong-host', message: 'this is 127.0.0.1 or localhost, and nothing else' };
  }
  // The page comes without: the token stands behind the # of its address, which browsers keep to themselves.
  if (!needsToken(request.url ?? '/')) return undefined;
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (isSame(given, token)) return undefined;
  return { status: 401, code: 'no-token', message: 'the token of the address that was printed is missing or wrong' };
}

/** Whatever a router could take for a path of the API: one that is not plain. */
function needsToken(url: string): boolean {
  const [path = '/'] = url.split(/[?#]/, 1);
  return !/^\/(?!api(\/|$))([\w-][\w.-]*(\/[\w-][\w.-]*)*)?$/i.test(path);
}

/** In the same time whatever is given. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
