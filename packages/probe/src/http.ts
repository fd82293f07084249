import type { Container, HttpGetAction } from '@kubus/contracts';
import type { Attempt } from './attempt.ts';
import { resolvePort } from './port.ts';
import { joinHostPort } from './texts.ts';

/** Names the prober to servers, as the reference of this version does. */
export const USER_AGENT = 'kube-probe/1.36';

/** How many requests a probe makes at most, redirects included. */
export const MAX_REQUESTS = 10;

/** An HTTP request as it goes out. */
export interface HttpRequest {
  readonly scheme: 'http' | 'https';
  /** Name or address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** As texts name it. */
  readonly url: string;
  /** `Host` first; the same name may come more than once. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The request of an httpGet probe or hook (kubelet behaviour 1.11, httpGet). Throws `ProbeErrored` for a bad port. */
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
 * The user's headers, and `User-Agent` and `Accept` where they name none. `Accept` or `User-Agent` with an empty value
 * leaves the header out; `Host` replaces the address.
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
 * A probe's path as it stands in a request. It may have a query; a scheme and host in it do not count. What may not stand
 * in a request is escaped; a path that can not be read as a reference (a stray `%`) is escaped as a whole, its `?` too.
 */
function requestPath(path: string): string {
  const [reference = ''] = path.split('#');
  // A control character or a stray % makes it unreadable.
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

/** Percent-encodes what neither a path nor a query may contain; what is encoded already stays. */
function escape(text: string): string {
  return text.replace(/[^!#-;=?-[\]_a-z~]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}

/** What the status of the last answer says. */
export function judgeHttp(status: number, body: string): Attempt {
  if (status >= 200 && status < 300) return { result: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  // Without the body: whoever may read events may not be meant to read that.
  return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

/** A request that came to nothing. */
export function httpFailure(url: string, why: string): Attempt {
  return { result: 'failure', output: `Get "${url}": ${why}` };
}
