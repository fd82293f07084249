import { type ServiceName, serviceNames } from '@kubus/contracts';
import { type InstanceCounts, instancesOf } from '../nats/identities.ts';

/** User and group of services that do not run as root; `nonroot` in distroless images. */
export const KUBUS_USER = 65_532;

/** Services that run as root, since they access the runtime, containers or the machine. */
const rootServices: ReadonlySet<ServiceName> = new Set([
  'cri-bridge',
  'cni-bridge',
  'pod-workers',
  'volume-manager',
  'node-agent',
  'node-api',
]);

/** The services with a container of their own, the launcher included. Such a node has no API of its own. */
export const containerServices = serviceNames.filter((name) => name !== 'cli' && name !== 'kube-api');

/** The user that a service's container runs as. */
export function userOf(service: ServiceName): number {
  return rootServices.has(service) ? 0 : KUBUS_USER;
}

/** Offset of the ports of each further instance. */
const PORTS_PER_SLOT = 20;

/** The TCP port of each instance's health checks, on the loopback. The launcher has none. */
export function httpPorts(first: number, counts: InstanceCounts): Record<string, number> {
  const services = containerServices.filter((name) => name !== 'launcher');
  return Object.fromEntries(
    services.flatMap((service, index) =>
      instancesOf(service, counts).map((instance, slot) => [instance, first + slot * PORTS_PER_SLOT + index] as const),
    ),
  );
}
