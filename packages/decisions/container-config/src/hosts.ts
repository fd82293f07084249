import type { HostAlias, Pod } from '@kubus/contracts';
import type { PodHostname } from './hostname.ts';

const HEADER = '# Kubernetes-managed hosts file.\n';
const HEADER_HOST_NETWORK = '# Kubernetes-managed hosts file (host network).\n';
const LOCAL = [
  ['127.0.0.1', 'localhost'],
  ['::1', 'localhost ip6-localhost ip6-loopback'],
  ['fe00::0', 'ip6-localnet'],
  ['fe00::0', 'ip6-mcastprefix'],
  ['fe00::1', 'ip6-allnodes'],
  ['fe00::2', 'ip6-allrouters'],
] as const;

/** The hosts file of a pod with its own network (behaviour:environment-and-dns, /etc/hosts). */
export function podHostsFile(
  pod: Pick<Pod, 'spec'>,
  { hostname, domain }: PodHostname,
  podIps: readonly string[],
): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = podIps.map((ip) => [ip, names] as const);
  return HEADER + lines([...LOCAL, ...own]) + aliasLines(pod.spec.hostAliases);
}

/**
 * The hosts file of a pod in the host's network: the node's file with the pod's aliases appended.
 *
 * @param nodeHostsFile content of the node's own file
 */
export function hostNetworkHostsFile(pod: Pick<Pod, 'spec'>, nodeHostsFile: string): string {
  return HEADER_HOST_NETWORK + nodeHostsFile + aliasLines(pod.spec.hostAliases);
}

function aliasLines(aliases: readonly HostAlias[] = []): string {
  if (aliases.length === 0) return '';
  const entries = aliases.map(({ hostnames = [], ip }) => [ip, hostnames.join('\t')] as const);
  return `\n# Entries added by HostAliases.\n${lines(entries)}`;
}

function lines(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([ip, names]) => `${ip}\t${names}\n`).join('');
}
