import type { Container, ObjectFieldSelector, Pod, ResourceFieldSelector } from '@kubus/contracts';
import { goQuoted } from '@kubus/pod';
import { ContainerConfigError } from './errors.ts';
import { milli, units } from './amounts.ts';

/** What the downward API offers to a pod's containers besides the pod itself. */
export interface DownwardSettings {
  /** The pod's addresses, the primary one first. Ignored for a pod in the host's network, which has the host's. */
  readonly podIps?: readonly string[];
  /** The node's addresses, the primary one first. */
  readonly hostIps?: readonly string[];
  /** The node's allocatable resources: the limits of containers that have none. */
  readonly allocatable?: Readonly<Record<string, string>>;
}

const SUBSCRIPT = /^(metadata\.(?:annotations|labels))\['(.+)'\]$/;

/**
 * The value of a pod's field (behaviour:environment-and-dns, fieldRef), for variables and files alike.
 *
 * Throws {@link ContainerConfigError} for a field that the downward API does not have.
 */
export function fieldValue(pod: Pod, { apiVersion, fieldPath }: ObjectFieldSelector, from: DownwardSettings): string {
  if (apiVersion !== undefined && apiVersion !== '' && apiVersion !== 'v1') {
    throw new ContainerConfigError(`unsupported pod version: ${apiVersion}`);
  }
  const { metadata, spec } = pod;
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (map !== undefined && key !== undefined) {
    return (map === 'metadata.labels' ? metadata.labels : metadata.annotations)?.[key] ?? '';
  }
  const hostIps = from.hostIps ?? [];
  const podIps = spec.hostNetwork === true ? hostIps : (from.podIps ?? []);
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return mapText(metadata.labels);
    case 'metadata.annotations':
      return mapText(metadata.annotations);
    case 'spec.nodeName':
    case 'spec.host':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIps[0] ?? '';
    case 'status.hostIPs':
      return hostIps.join(',');
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    default:
      throw new ContainerConfigError(`unsupported fieldPath: ${fieldPath}`);
  }
}

/**
 * A request or limit of a container, in multiples of the divisor and rounded up (behaviour:environment-and-dns,
 * resourceFieldRef). A missing limit is the pod's, or else the node's allocatable amount.
 *
 * Throws {@link ContainerConfigError} for a resource that the downward API does not have.
 */
export function resourceFieldValue(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  { resource, divisor }: ResourceFieldSelector,
  { allocatable }: DownwardSettings,
): string {
  const [, kind, name] = /^(requests|limits)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource) ?? [];
  if (kind === undefined || name === undefined) {
    throw new ContainerConfigError(`unsupported container resource : ${resource}`);
  }
  const amount = name === 'cpu' ? milli : units;
  let text = container.resources?.[kind === 'requests' ? 'requests' : 'limits']?.[name];
  // Huge pages are never overcommitted: a container without a limit has none.
  if (kind === 'limits' && amount(text) === 0n && !name.startsWith('hugepages-')) {
    text = pod.spec.resources?.limits?.[name] ?? allocatable?.[name];
  }
  const by = amount(divisor);
  const step = by > 0n ? by : amount('1');
  return String((amount(text) + step - 1n) / step);
}

/** One `key="value"` per line, keys in order. */
function mapText(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${goQuoted(value)}`)
    .join('\n');
}
