import type { Container, HttpGetAction } from '@kubus/contracts';
import type { Attempt } from './attempt.ts';
import { resolvePort } from './port.ts';
import { joinHostPort } from './texts.ts';

/** Identifies the prober to servers, as in the reference of this version. */
export const USER_AGENT = 'kube-probe/1.36';

/** The maximum number of requests of a probe, including redirects. */
export const MAX_REQUESTS = 10;

/** An HTTP request in the form in which it is sent. */
export interface HttpRequest {
  readonly scheme: 'http' | 'https';
  /** Name or address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** As shown in texts. */
  readonly url: string;
  /** `Host` first; a name may be repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The request of an httpGet probe or hook (behaviour:probes, httpGet). Throws `ProbeErrored` for an invalid port. */
export function httpRequest(
  action: HttpGetAction,
  container: Pick<Container, 'ports'>,
  podIp: string,
  userAgent = USER_AGENT,
): HttpRequest {
  const scheme = action.scheme?.toLowerCase() === 'https' ? 'https' : 'http';
  const host = action.host === undefined || action.host === '' ? podIp : action.host;
  const port = resolvePort(action.port, container);
  const path = requestPath(action.path ?? '');
  const address = joinHostPort(host, port);
  const headers = requestHeaders(action.httpHeaders ?? [], address, userAgent);
  return { scheme, host, port, path, url: `${scheme}://${address}${path}`, headers };
}

/**
 * The user's headers, and default values of `User-Agent` and `Accept`. `Accept` or `User-Agent` with an empty value
 * omits the header; `Host` replaces the address.
 */
function requestHeaders(
  given: readonly { name: string; value: string }[],
  address: string,
  userAgent: string,
): [name: string, value: string][] {
  const headers = given.map(({ name, value }): [string, string] => [canonicalName(name), value]);
  const first = (name: string): string | undefined => headers.find(([one]) => one === name)?.[1];
  const single = (name: string, fallback: string): [string, string][] => {
    const value = first(name) ?? fallback;
    return value === '' ? [] : [[name, value]];
  };
  const host = first('Host');
  const omitted = ['Host', 'User-Agent', ...(first('Accept') === '' ? ['Accept'] : [])];
  return [
    ['Host', host === undefined || host === '' ? address : host],
    ...single('User-Agent', userAgent),
    ...headers.filter(([name]) => !omitted.includes(name)),
    ...(first('Accept') === undefined ? single('Accept', '*/*') : []),
  ];
}

/** `x-request-id` as `X-Request-Id`. */
function canonicalName(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}

/**
 * A probe's path in the form of a request. It may have a query; a scheme and host in it are ignored. Characters that are not allowed
 * in a request are escaped; a path that cannot be parsed as a reference (a stray `%`) is escaped as a whole, including its `?`.
 */
function requestPath(path: string): string {
  const [reference = ''] = path.split('#');
  // A control character or a stray % makes parsing impossible.
  if (/\p{Cc}|%(?![0-9A-Fa-f]{2})/u.test(path)) {
    return rooted(escape(path.replaceAll('%', '%25').replaceAll('?', '%3F').replaceAll('#', '%23')));
  }
  const local = reference.replace(/^([a-zA-Z][-+.a-zA-Z0-9]*:)?\/\/[^/?]*/, '');
  const query = local.indexOf('?');
  return query === -1 ? rooted(escape(local)) : `${rooted(escape(local.slice(0, query)))}${escape(local.slice(query))}`;
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** Percent-encodes what is allowed neither in a path nor in a query; existing escapes are kept. */
function escape(text: string): string {
  return text.replace(/[^!#-;=?-[\]_a-z~]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}

/** The result for the status of the last answer. */
export function judgeHttp(status: number, body: string): Attempt {
  if (status >= 200 && status < 300) return { result: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  // Without the body, because people who may read events need not have access to it.
  return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

/** The result of a request that failed. */
export function httpFailure(url: string, why: string): Attempt {
  return { result: 'failure', output: `Get "${url}": ${why}` };
}
