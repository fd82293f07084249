import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { KubusError, toError } from '@kubus/ports';
import type { HookRequest, HookRequests } from '../ports.ts';

const MAX_REDIRECTS = 10;
const USER_AGENT = 'kube-lifecycle/1.36';

/** OpenSSL's error codes for a response that is not TLS, by its version. */
const NOT_TLS = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST', 'EPROTO'];

/**
 * Requests of httpGet handlers (behaviour:kill-and-grace): certificates are not verified, redirects are followed on
 * the same host only, the status is ignored, and a request to a server that answers https without TLS is repeated over
 * http.
 */
export function createHookRequests(): HookRequests {
  return {
    get: async (request, signal) => {
      const url = urlOf(request);
      const headers = headersOf(request);
      try {
        await follow(url, headers, signal);
        return { fellBack: false };
      } catch (error) {
        if (request.scheme !== 'https' || !isNotTls(error)) throw error;
        url.protocol = 'http:';
        // Headers for an encrypted connection are not sent in plain text.
        const { authorization: _secret, ...others } = headers;
        await follow(url, others, signal);
        return { fellBack: true };
      }
    },
  };
}

function urlOf({ scheme, host, port, path }: HookRequest): URL {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return new URL(`${path.startsWith('/') ? '' : '/'}${path}`, `${scheme}://${name}:${port}`);
}

type Headers = Record<string, string | string[]>;

/** Names in lower case. An empty `Accept` means that the header is not sent. */
function headersOf({ headers }: HookRequest): Headers {
  const all: Headers = {};
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    const before = all[key];
    // A request has one host; of several values the first counts.
    if (key === 'host') all[key] = before ?? value;
    else all[key] = before === undefined ? value : [...[before].flat(), value];
  }
  all['user-agent'] ??= USER_AGENT;
  if (all['accept'] === '') delete all['accept'];
  else all['accept'] ??= '*/*';
  return all;
}

async function follow(start: URL, headers: Headers, signal: AbortSignal): Promise<void> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    const location = await ask(url, headers, signal);
    if (location === undefined) return;
    const next = new URL(location, url);
    if (next.hostname !== start.hostname) return;
    if (redirects === MAX_REDIRECTS) {
      throw new KubusError('too-many-redirects', `stopped after ${MAX_REDIRECTS} redirects`);
    }
    url = next;
  }
}

/** The target of a redirect; undefined: the response is not a redirect. */
function ask(url: URL, headers: Headers, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const options = { headers, signal, agent: false, rejectUnauthorized: false };
    const request = (url.protocol === 'https:' ? getSecure : getPlain)(url, options, (response) => {
      const redirects = [301, 302, 303, 307, 308].includes(response.statusCode ?? 0);
      resolve(redirects ? response.headers.location : undefined);
      response.destroy();
    });
    request.on('error', reject);
  });
}

function isNotTls(error: unknown): boolean {
  const known = toError(error);
  return 'code' in known && NOT_TLS.includes(String(known.code));
}
