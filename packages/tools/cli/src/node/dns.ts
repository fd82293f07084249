import { type NodeConfig, readNodeConfig } from '@kubus/service-kit';

/** Which resolver the pods of a node have. */
export interface NodeDns {
  /** The node's own, which answers names of services and pods; left out: it has none. */
  readonly own?: string;
  /** Those that pods ask. Empty: the machine's. */
  readonly servers: readonly string[];
  readonly domain: string;
  /** The file with the machine's resolvers. */
  readonly resolvConf: string;
}

/** The resolver of pods, by the configuration that the services have. */
export function dnsOf({ dns, kubeApi }: Pick<NodeConfig, 'dns' | 'kubeApi'>): NodeDns {
  const own = kubeApi?.dnsAddress;
  return { ...(own !== undefined && { own }), ...dns };
}

/** The same of the node with this configuration file; undefined if it cannot be read: what else a node says about itself is then still of use. */
export function readDns(file: string): NodeDns | undefined {
  try {
    return dnsOf(readNodeConfig(file).config);
  } catch {
    return undefined;
  }
}

/** The line of `kubus status`. */
export function dnsLine({ own, servers, domain, resolvConf }: NodeDns): string {
  if (servers.length === 0) return `dns      none: pods use the machine's (${resolvConf || 'none'})`;
  const others = servers.filter((server) => server !== own);
  const names = `names of services and pods in ${domain || 'no domain'}, others from ${resolvConf || 'nowhere'}`;
  if (own !== undefined && others.length === 0) return `dns      ${own}: ${names}`;
  return `dns      ${servers.join(', ')}: of clusterDNS${own === undefined ? '' : `; the node's own is ${own}`}`;
}
