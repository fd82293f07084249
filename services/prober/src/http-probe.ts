import { type Clock, toError } from '@kubus/ports';
import {
  type Attempt,
  type HttpRequest,
  MAX_OUTPUT,
  MAX_REQUESTS,
  ProbeErrored,
  httpFailure,
  joinHostPort,
  judgeHttp,
} from '@kubus/probe';
import { type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http';
import { isIP } from 'node:net';
import { networkErrorText } from './network-errors.ts';
import { TimeLimit } from './time-limit.ts';

/** Most bytes of headers in a server's answer, as in the reference. */
const MAX_HEADERS = 1 << 20;

const redirects: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Makes an httpGet probe: one connection per request, no proxy, certificates not verified, redirects followed as long
 * as they stay on the host (behaviour:probes). Throws {@link ProbeErrored} when the answer breaks off.
 */
export async function probeHttp(
  first: HttpRequest,
  { clock, timeoutMs, cancelled }: { clock: Clock; timeoutMs: number; cancelled: AbortSignal },
): Promise<Attempt> {
  const limit = new TimeLimit(clock, timeoutMs, cancelled);
  try {
    return await followRedirects(first, limit);
  } finally {
    limit.end();
  }
}

async function followRedirects(first: HttpRequest, limit: TimeLimit): Promise<Attempt> {
  let request = first;
  for (let made = 1; ; made++) {
    let response: IncomingMessage;
    try {
      response = await send(request, limit.signal);
    } catch (error) {
      const why = limit.expired
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : networkErrorText(toError(error), joinHostPort(request.host, request.port));
      return httpFailure(request.url, why);
    }
    const status = response.statusCode ?? 0;
    const location = redirects.includes(status) ? response.headers.location : undefined;
    if (location === undefined || location === '') return await judge(status, response, limit);
    const target = URL.parse(location, request.url);
    if (target === null) {
      discard(response);
      return httpFailure(request.url, `failed to parse Location header "${location}"`);
    }
    if (target.hostname !== URL.parse(first.url)?.hostname) return await judge(status, response, limit);
    discard(response);
    if (target.protocol !== 'http:' && target.protocol !== 'https:') {
      return httpFailure(target.href, `unsupported protocol scheme "${target.protocol.slice(0, -1)}"`);
    }
    if (made === MAX_REQUESTS) return httpFailure(location, `stopped after ${MAX_REQUESTS} redirects`);
    request = redirected(first, target, location);
  }
}

async function send(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { scheme, host, port, path, headers } = request;
  const options: RequestOptions & { servername: string; rejectUnauthorized: boolean } = {
    ...{ host, port, path, method: 'GET', headers: headers.flat(), signal },
    // Neither a pool nor a Host header that Node.js adds; the TLS server name is the host's, whatever the header says.
    ...{ agent: false, setHost: false, maxHeaderSize: MAX_HEADERS },
    ...{ rejectUnauthorized: false, servername: isIP(host) === 0 ? host : '' },
  };
  const make = scheme === 'http' ? requestPlain : (await import('node:https')).request;
  return new Promise((resolve, reject) => {
    const outgoing = make(options);
    outgoing.on('error', reject);
    outgoing.once('response', resolve);
    outgoing.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response);
    });
    outgoing.end();
  });
}

async function judge(status: number, response: IncomingMessage, limit: TimeLimit): Promise<Attempt> {
  // The body of a refusal is not shown, so it is not waited for either.
  if (status >= 200 && status < 400) return judgeHttp(status, await readBody(response, limit));
  discard(response);
  return judgeHttp(status, '');
}

function discard(response: IncomingMessage): void {
  response.on('error', () => undefined).destroy();
}

/** The first {@link MAX_OUTPUT} bytes. */
async function readBody(response: IncomingMessage, limit: TimeLimit): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_OUTPUT) break;
    }
  } catch (error) {
    const why = limit.expired
      ? 'context deadline exceeded (Client.Timeout or context cancellation while reading body)'
      : 'unexpected EOF';
    throw new ProbeErrored('failure', why, { cause: error });
  }
  return Buffer.concat(chunks).subarray(0, MAX_OUTPUT).toString('utf8');
}

/** The next request: with the same headers, but a user's own `Host` only if the redirect names no other. */
function redirected(first: HttpRequest, target: URL, location: string): HttpRequest {
  const scheme = target.protocol === 'https:' ? 'https' : 'http';
  const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = target.port === '' ? { http: 80, https: 443 }[scheme] : Number(target.port);
  const own = first.headers.find(([name]) => name === 'Host')?.[1];
  const kept = own !== joinHostPort(first.host, first.port) && !/^[a-z][-+.a-z0-9]*:/i.test(location);
  const headers = first.headers.map(([name, value]): [string, string] =>
    name === 'Host' && !kept ? [name, target.host] : [name, value],
  );
  return { scheme, host, port, path: `${target.pathname}${target.search}`, url: target.href, headers };
}
