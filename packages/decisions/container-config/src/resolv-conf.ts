/** The content of a resolv.conf. */
export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Greatest length of a domain name, and limits of a resolver's search line (behaviour:environment-and-dns). */
export const MAX_DOMAIN = 253;
export const MAX_SEARCHES = 32;
export const MAX_SEARCH_LINE = 2048;

/**
 * Parses a resolv.conf: all name servers, the last search line, and all options, of which the last one of each name
 * takes precedence. A domain with a trailing dot equals the same domain without it.
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
