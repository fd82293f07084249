import type { Pod } from '@kubus/contracts';
import { SandboxConfigError } from './errors.ts';

/** Longest host name of DNS and of the kernel (kubelet behaviour 1.15). */
const MAX_LABEL = 63;
const MAX_KERNEL_NAME = 64;

export interface PodHostname {
  readonly hostname: string;
  /** Empty when the pod has no subdomain. */
  readonly domain: string;
}

/**
 * A pod's host name and domain (kubelet behaviour 1.15, Hostname).
 *
 * @param clusterDomain such as `cluster.local`
 *
 * Throws {@link SandboxConfigError} when nothing is left of the name after it has been cut.
 */
export function podHostname({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>, clusterDomain: string): PodHostname {
  if (spec.hostnameOverride !== undefined) return { hostname: cut(metadata.name, spec.hostnameOverride), domain: '' };
  const own = (spec.hostname ?? '') === '' ? metadata.name : (spec.hostname ?? '');
  const subdomain = spec.subdomain ?? '';
  return {
    hostname: cut(metadata.name, own),
    domain: subdomain === '' ? '' : `${subdomain}.${metadata.namespace}.svc.${clusterDomain}`,
  };
}

/**
 * The name that the kernel gets: the host name, or the whole of it with its domain when the pod wants that.
 *
 * Throws {@link SandboxConfigError} when the kernel does not take so long a name.
 */
export function kernelHostname(pod: Pick<Pod, 'metadata' | 'spec'>, clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (domain === '' || pod.spec.setHostnameAsFQDN !== true) return hostname;
  const whole = `${hostname}.${domain}`;
  if (whole.length <= MAX_KERNEL_NAME) return whole;
  const length = `${MAX_KERNEL_NAME} characters is the max, ${whole.length} characters requested`;
  throw new SandboxConfigError(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${whole} is too long (${length})`,
  );
}

function cut(podName: string, hostname: string): string {
  if (hostname.length <= MAX_LABEL) return hostname;
  const short = hostname.slice(0, MAX_LABEL).replace(/[-.]+$/, '');
  if (short === '') throw new SandboxConfigError(`hostname for pod "${podName}" was invalid: "${hostname}"`);
  return short;
}
