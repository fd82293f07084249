import {
  type Container,
  type Pod,
  type ResourceList,
  parseQuantity,
  quantityMilli,
  quantityUnits,
} from '@kubus/contracts';
import { isClaimedResource } from '@kubus/device-manager';
import { podResourceList } from '@kubus/pod-status';
import * as z from 'zod';

/** The resources and ports of the node that a pod occupies from its admission to its end. */
export const podClaimSchema = z.object({
  /** Requests of the pod as a whole, with its overhead. */
  requests: z.record(z.string(), z.string()),
  hostPorts: z.array(z.object({ protocol: z.string(), ip: z.string(), port: z.int().positive() })),
});
export type PodClaim = z.infer<typeof podClaimSchema>;

/** The claim of a pod with the resources in its spec, without those that come from a ResourceClaim. */
export function claimOf(pod: Pick<Pod, 'spec' | 'status'>): PodClaim {
  const { containers, initContainers = [] } = pod.spec;
  const atOnce = [...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always'), ...containers];
  return { requests: podResourceList(withoutClaimed(pod), 'requests'), hostPorts: atOnce.flatMap(hostPortsOf) };
}

function withoutClaimed(pod: Pick<Pod, 'spec' | 'status'>): Pick<Pod, 'spec'> {
  if (pod.status?.extendedResourceClaimStatus === undefined) return pod;
  const own = (container: Container, list: ResourceList = {}) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !isClaimedResource(pod, container.name, name)));
  const reduced = (container: Container): Container => {
    const { requests, limits } = container.resources ?? {};
    const resources = { ...container.resources, requests: own(container, requests), limits: own(container, limits) };
    return { ...container, resources };
  };
  const { containers, initContainers } = pod.spec;
  const init = initContainers && { initContainers: initContainers.map(reduced) };
  return { ...pod, spec: { ...pod.spec, containers: containers.map(reduced), ...init } };
}

/** The claim, raised to what the pod still has: a decrease counts only once it is complete. */
export function withActual(claim: PodClaim, actual: ResourceList): PodClaim {
  const requests = { ...claim.requests };
  for (const [name, text] of Object.entries(actual)) {
    if (amount(name, text) > amount(name, requests[name])) requests[name] = text;
  }
  return { ...claim, requests };
}

/**
 * An amount in the node's units: CPU in thousandths, everything else in whole units; 0 for text that is not a
 * quantity.
 */
export function amount(resource: string, text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  if (quantity === undefined) return 0n;
  return resource === 'cpu' ? quantityMilli(quantity) : quantityUnits(quantity);
}

/** The sum of what several pods request of a resource. */
export function requested(claims: readonly PodClaim[], resource: string): bigint {
  return claims.reduce((sum, { requests }) => sum + amount(resource, requests[resource]), 0n);
}

function hostPortsOf({ ports = [] }: Container): PodClaim['hostPorts'] {
  return ports.flatMap(({ hostIP = '', hostPort = 0, protocol = 'TCP' }) =>
    hostPort === 0 ? [] : [{ protocol, ip: hostIP === '' ? ANY : hostIP, port: hostPort }],
  );
}

/** The address of a host port that is open on all addresses. */
export const ANY = '0.0.0.0';
