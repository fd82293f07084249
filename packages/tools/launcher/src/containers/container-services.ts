import { type ServiceName, serviceNames } from '@kubus/contracts';
import { type Placement, placedServices } from '@kubus/service-kit';
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

/**
 * The user that a service's containers run as. One that shares a container with a service of root is root's too, in its further instances
 * as well: they have the same state.
 */
export function userOf(service: ServiceName, placement: Placement = 'separate'): number {
  const together = [...placedServices(placement).values()].find((services) => services.includes(service)) ?? [service];
  return together.some((one) => rootServices.has(one)) ? 0 : KUBUS_USER;
}

/** Offset of the ports of each further instance. */
const PORTS_PER_SLOT = 20;

/** Offset of the port of the first container with several services; the others follow in the order of their names. */
const FIRST_SHARED_PORT = 12;

/** The TCP port of the health checks of each instance, and of each container with several services, on the loopback. The launcher has none. */
export function httpPorts(first: number, counts: InstanceCounts, placement: Placement): Record<string, number> {
  const services = containerServices.filter((name) => name !== 'launcher');
  const each = services.flatMap((service, index) =>
    instancesOf(service, counts).map((instance, slot) => [instance, first + slot * PORTS_PER_SLOT + index] as const),
  );
  const shared = [...placedServices(placement).keys()].sort();
  return Object.fromEntries([
    ...each,
    ...shared.map((process, index) => [process, first + FIRST_SHARED_PORT + index] as const),
  ]);
}
