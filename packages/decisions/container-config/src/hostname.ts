import type { Pod } from '@kubus/contracts';
import { SandboxConfigError } from './errors.ts';

/** Longest host name of DNS and of the kernel (behaviour:environment-and-dns). */
const MAX_LABEL = 63;
const MAX_KERNEL_NAME = 64;

export interface PodHostname {
  readonly hostname: string;
  /** Empty when the pod has no subdomain. */
  readonly domain: string;
}

/**
 * A pod's host name and domain (behaviour:environment-and-dns, Hostname).
 *
 * @param clusterDomain such as `cluster.local`
 *
 * Throws {@link SandboxConfigError} when nothing is left of the name after truncation.
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
 * The host name that is set in the kernel: the short name, or the fully qualified one when the pod requests that.
 *
 * Throws {@link SandboxConfigError} when the name is too long for the kernel.
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
