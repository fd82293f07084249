import { type JsonObject, type KubeObject, asList, asObject, asText, at, isReady } from '@kubus/kube-objects';

/** A port of an endpoint, under the name that the service gives it. */
interface EndpointPort {
  readonly name: string;
  /** In lower case, such as `tcp`. */
  readonly protocol: string;
  readonly port: number;
}

/** Where a service leads to. */
export interface Endpoint {
  readonly address: string;
  /** Its label below the service's name: its host name, or one that its address gives. */
  readonly hostname: string;
  readonly ports: readonly EndpointPort[];
}

const protocolOf = (port: JsonObject) => (asText(port['protocol']) || 'TCP').toLowerCase();

/** An address as one label: `10-88-0-2`, `fd00--1`. */
export function addressLabel(address: string): string {
  const label = address.replaceAll(/[.:]/g, '-');
  // A label neither begins nor ends with a hyphen.
  return `${label.startsWith('-') ? '0' : ''}${label}${label.endsWith('-') ? '0' : ''}`;
}

/** Whether a pod has an address that its containers may use. */
export function hasAddress({ status }: KubeObject): boolean {
  const phase = asText(status?.['phase']);
  return asText(status?.['podIP']) !== '' && phase !== 'Succeeded' && phase !== 'Failed';
}

/** All addresses of a pod. */
export function addressesOf({ status }: KubeObject): readonly string[] {
  const addresses = asList(status?.['podIPs']).map((one) => asText(at(one, 'ip')));
  return [...new Set([asText(status?.['podIP']), ...addresses])].filter((address) => address !== '');
}

const publishesNotReady = (service: KubeObject) => service.spec?.['publishNotReadyAddresses'] === true;

/**
 * The endpoints that a controller would write for the service: its selector's pods that are ready, or all with `publishNotReadyAddresses`.
 * Source: k8s.io/endpointslice.
 *
 * @param pods of the service's namespace, with an address.
 */
export function endpointsOfPods(service: KubeObject, pods: readonly KubeObject[]): readonly Endpoint[] {
  const selector = Object.entries(asObject(service.spec?.['selector']));
  if (selector.length === 0) return [];
  const isOf = ({ metadata: { labels = {} } }: KubeObject) =>
    selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
  const counts = (pod: KubeObject) =>
    publishesNotReady(service) || (isReady(pod) && pod.metadata.deletionTimestamp === undefined);
  return pods
    .filter((pod) => isOf(pod) && counts(pod))
    .flatMap((pod) => {
      const { subdomain, hostname } = { ...pod.spec };
      const own = asText(subdomain) === service.metadata.name ? asText(hostname) : '';
      const ports = asList(service.spec?.['ports']).flatMap((port) => portOfPod(asObject(port), pod));
      return addressesOf(pod).map((address) => ({ address, hostname: own || addressLabel(address), ports }));
    });
}

/** A port whose target the pod does not name is none of its ports. */
function portOfPod(port: JsonObject, { spec }: KubeObject): readonly EndpointPort[] {
  const protocol = protocolOf(port);
  const target = port['targetPort'] ?? port['port'];
  const containers = [...asList(spec?.['containers']), ...asList(spec?.['initContainers'])];
  const named = () =>
    containers
      .flatMap((container) => asList(at(container, 'ports')).map(asObject))
      .find((one) => one['name'] === target && protocolOf(one) === protocol)?.['containerPort'];
  const number = typeof target === 'number' ? target : named();
  return typeof number === 'number' ? [{ name: asText(port['name']), protocol, port: number }] : [];
}

/** The endpoints of a service's EndpointSlices that are ready, or all with `publishNotReadyAddresses`. One of unknown readiness counts as ready. */
export function endpointsOfSlices(service: KubeObject, slices: readonly KubeObject[]): readonly Endpoint[] {
  return slices.flatMap((slice) => {
    if (slice['addressType'] !== 'IPv4' && slice['addressType'] !== 'IPv6') return [];
    const ports = asList(slice['ports']).flatMap((one): readonly EndpointPort[] => {
      const given = asObject(one);
      const { port } = given;
      return typeof port === 'number' ? [{ name: asText(given['name']), protocol: protocolOf(given), port }] : [];
    });
    return asList(slice['endpoints']).flatMap((endpoint) => {
      if (at(endpoint, 'conditions', 'ready') === false && !publishesNotReady(service)) return [];
      return asList(at(endpoint, 'addresses')).map((one) => {
        const address = asText(one);
        return { address, hostname: asText(at(endpoint, 'hostname')) || addressLabel(address), ports };
      });
    });
  });
}
