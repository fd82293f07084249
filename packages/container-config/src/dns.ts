import type { Pod } from '@kubus/contracts';
import type { DNSConfig } from '@kubus/proto/cri';
import { MAX_DOMAIN, MAX_SEARCHES, MAX_SEARCH_LINE, type ResolvConf, parseResolvConf } from './resolv-conf.ts';

export interface DnsSettings {
  /** Addresses of the cluster's DNS; empty when the node knows none. */
  readonly clusterDns: readonly string[];
  /** Such as `cluster.local`; empty: searches are left alone. */
  readonly clusterDomain: string;
  /** Content of the file that `resolvConf` names; undefined when it names none: pods then get no DNS from the host. */
  readonly resolvConf: string | undefined;
  /** The node's addresses: of which families a pod without DNS gets its loopback name server. */
  readonly nodeIps: readonly string[];
}

/** Something about a pod's DNS that its author, and for some reasons the node's owner, should know. */
export interface DnsWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  readonly message: string;
  /** What the node's own event says, where it gets one too. */
  readonly nodeMessage?: string;
}

export interface PodDns {
  readonly config: Required<DNSConfig>;
  readonly warnings: readonly DnsWarning[];
}

const MAX_SERVERS = 3;
const CLUSTER_OPTIONS = ['ndots:5'];
const NOTHING: ResolvConf = { servers: [], searches: [], options: [] };

/** What is in a pod's resolv.conf (kubelet behaviour 1.15): by its policy, then its own words, within the limits. */
export function dnsConfig(pod: Pick<Pod, 'metadata' | 'spec'>, settings: DnsSettings): PodDns {
  const warnings: DnsWarning[] = [];
  const base = basis(pod, settings, warnings);
  const merged = pod.spec.dnsConfig === undefined ? base : withOwn(base, pod.spec.dnsConfig);
  const servers = fittingServers(merged.servers, warnings);
  const searches = fittingSearches(merged.searches, warnings);
  return { config: { servers, searches, options: [...merged.options] }, warnings };
}

function basis(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  { clusterDns, clusterDomain, nodeIps, resolvConf }: DnsSettings,
  warnings: DnsWarning[],
): ResolvConf {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return NOTHING;
  const host = resolvConf === undefined ? NOTHING : parseResolvConf(resolvConf);
  const fromHost = policy === 'Default' || (policy === 'ClusterFirst' && pod.spec.hostNetwork === true);
  if (!fromHost && clusterDns.length > 0) {
    const searches = clusterSearches(pod.metadata.namespace, clusterDomain, host.searches);
    return { servers: clusterDns, searches, options: CLUSTER_OPTIONS };
  }
  if (!fromHost) warnings.push(missingClusterDns(pod));
  if (resolvConf !== undefined) return host;
  const loopback = nodeIps.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'));
  return { servers: loopback.length > 0 ? loopback : ['127.0.0.1'], searches: ['.'], options: [] };
}

function clusterSearches(namespace: string, domain: string, host: readonly string[]): readonly string[] {
  if (domain === '') return host;
  return unique([`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...host]);
}

function missingClusterDns({ metadata: { name, namespace, uid } }: Pick<Pod, 'metadata'>): DnsWarning {
  const nodeMessage =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
    'Falling back to "Default" policy.';
  const message = `pod: "${name}_${namespace}(${uid})". ${nodeMessage}`;
  return { reason: 'MissingClusterDNS', message, nodeMessage };
}

function withOwn(base: ResolvConf, own: NonNullable<Pod['spec']['dnsConfig']>): ResolvConf {
  const options = new Map<string, string>();
  for (const option of base.options) options.set(option.replace(/:.*$/, ''), option);
  for (const { name, value = '' } of own.options ?? []) {
    if (name !== undefined) options.set(name, value === '' ? name : `${name}:${value}`);
  }
  return {
    servers: unique([...base.servers, ...(own.nameservers ?? [])]),
    searches: unique([...base.searches, ...(own.searches ?? [])]),
    options: [...options.values()],
  };
}

function fittingServers(servers: readonly string[], warnings: DnsWarning[]): string[] {
  const fitting = servers.slice(0, MAX_SERVERS);
  if (fitting.length < servers.length) {
    const message = `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${fitting.join(' ')}`;
    warnings.push({ reason: 'DNSConfigForming', message });
  }
  return fitting;
}

/** Names that are too long go first: some resolvers end the process that meets one. */
function fittingSearches(searches: readonly string[], warnings: DnsWarning[]): string[] {
  const fitting = searches.slice(0, MAX_SEARCHES).filter((domain) => domain.length <= MAX_DOMAIN);
  while (fitting.join(' ').length > MAX_SEARCH_LINE) fitting.pop();
  if (fitting.length < searches.length) {
    const message = `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${fitting.join(' ')}`;
    warnings.push({ reason: 'DNSConfigForming', message });
  }
  return fitting;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
