import { type ServiceName, serviceNames } from '@kubus/contracts';
import { type InstanceCounts, instancesOf } from '../identities.ts';

/** User and group of services that need no right of root. Distroless images call it nonroot. */
export const KUBUS_USER = 65_532;

/** Those touch what belongs to the runtime, to containers or to the machine. */
const ofRoot: ReadonlySet<ServiceName> = new Set([
  'cri-bridge',
  'cni-bridge',
  'pod-workers',
  'volume-manager',
  'node-agent',
  'node-api',
]);

/** What has a container of its own: every service, and the launcher's part. */
export const containerServices = serviceNames.filter((name) => name !== 'cli');

/** The user that a service's container runs as. */
export function userOf(service: ServiceName): number {
  return ofRoot.has(service) ? 0 : KUBUS_USER;
}

/** Ports of further instances begin so much higher. */
const PORTS_PER_SLOT = 20;

/** The port of each instance's checks, on the loopback. The launcher has none. */
export function httpPorts(first: number, counts: InstanceCounts): Record<string, number> {
  const services = containerServices.filter((name) => name !== 'launcher');
  return Object.fromEntries(
    services.flatMap((service, index) =>
      instancesOf(service, counts).map((instance, slot) => [instance, first + slot * PORTS_PER_SLOT + index] as const),
    ),
  );
}
