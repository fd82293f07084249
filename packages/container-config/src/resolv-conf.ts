/** What a resolv.conf says. */
export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Greatest length of a domain name, and limits of a resolver's search line (kubelet behaviour 1.15). */
export const MAX_DOMAIN = 253;
export const MAX_SEARCHES = 32;
export const MAX_SEARCH_LINE = 2048;

/**
 * Reads a resolv.conf: all name servers, the last search line, and all options, of which a later one of the same name
 * wins. A domain counts once with and without a dot at its end.
 */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    const [first] = values;
    if (keyword === 'nameserver' && first !== undefined) servers.push(first);
    if (keyword === 'search') searches = values.map((domain) => (domain === '.' ? domain : domain.replace(/\.$/, '')));
    if (keyword === 'options') for (const option of values) options.set(option.replace(/:.*$/, ''), option);
  }
  return { servers, searches, options: [...options.values()] };
}

/**
 * Whether the search line of the node's resolv.conf leaves no room for the cluster's domains: the text of a
 * `CheckLimitsForResolvConf` event of the node, or undefined when all is well.
 *
 * @param path of the file, for the text
 * @param clusterDomain empty: there is none to make room for
 */
export function resolvConfWarning(path: string, text: string, clusterDomain: string): string | undefined {
  const { searches } = parseResolvConf(text);
  const room = clusterDomain === '' ? MAX_SEARCHES : MAX_SEARCHES - 3;
  if (searches.length > room) {
    return `Resolv.conf file '${path}' contains search line consisting of more than ${room} domains!`;
  }
  if (searches.some((domain) => domain.length > MAX_DOMAIN)) {
    return `Resolv.conf file "${path}" contains a search path which length is more than allowed ${MAX_DOMAIN} chars!`;
  }
  if (searches.join(' ').length > MAX_SEARCH_LINE) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${MAX_SEARCH_LINE} chars!`;
  }
  return undefined;
}
