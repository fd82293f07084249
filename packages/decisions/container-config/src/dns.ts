import type { Pod } from '@kubus/contracts';
import type { DNSConfig } from '@kubus/proto/cri';
import { MAX_DOMAIN, MAX_SEARCHES, MAX_SEARCH_LINE, type ResolvConf, parseResolvConf } from './resolv-conf.ts';

export interface DnsSettings {
  /** Addresses of the cluster's DNS; empty when none are configured. */
  readonly clusterDns: readonly string[];
  /** Such as `cluster.local`; empty: search domains are not changed. */
  readonly clusterDomain: string;
  /** Content of the file that `resolvConf` specifies; undefined without a file: pods then inherit no DNS settings from the host. */
  readonly resolvConf: string | undefined;
  /** The node's addresses: they determine the loopback name server (IPv4 or IPv6) of a pod without DNS. */
  readonly nodeIps: readonly string[];
}

/** A warning about a pod's DNS for its author, and for some reasons for the node's operators. */
interface DnsWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  readonly message: string;
  /** The message of the node's own event, where there is one too. */
  readonly nodeMessage?: string;
}

export interface PodDns {
  readonly config: Required<DNSConfig>;
  readonly warnings: readonly DnsWarning[];
}

const MAX_SERVERS = 3;
const CLUSTER_OPTIONS = ['ndots:5'];
const NOTHING: ResolvConf = { servers: [], searches: [], options: [] };

/**
 * The content of a pod's resolv.conf (behaviour:environment-and-dns): according to its policy, then its own dnsConfig, within
 * the limits.
 */
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

/** Names that are too long are dropped first: some resolvers abort the process on one. */
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
