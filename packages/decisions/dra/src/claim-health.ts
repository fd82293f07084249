import type { Container, ContainerStatus, Pod, PreparedClaim } from '@kubus/contracts';
import { baseRequest } from './container-claims.ts';
import { claimOf } from './pod-claims.ts';

type ClaimHealth = NonNullable<ContainerStatus['allocatedResourcesStatus']>;

/**
 * The health of the devices of a container's claims, as the pod's status has it (KEP-4680): `claim:NAME`, or `claim:NAME/REQUEST`. A device
 * is named by its first CDI device, and listed once.
 */
export function claimHealth(
  pod: Pick<Pod, 'metadata' | 'spec' | 'status'>,
  container: Pick<Container, 'resources'>,
  claims: readonly PreparedClaim[],
): ClaimHealth {
  const named = (container.resources?.claims ?? []).map(({ name, request = '' }) => {
    const entry = pod.spec.resourceClaims?.find((one) => one.name === name);
    const claim = entry && claimOf(pod, entry);
    const prepared = claim && 'claim' in claim ? claims.find((one) => one.name === claim.claim) : undefined;
    const resources = new Map<string, NonNullable<ClaimHealth[number]['resources']>[number]>();
    for (const { driver, devices } of prepared?.drivers ?? []) {
      for (const { pool, device, requests, cdiDevices, health = 'Unknown', healthMessage } of devices) {
        if (request !== '' && requests.length > 0 && !requests.includes(baseRequest(request))) continue;
        const resourceID = cdiDevices[0] ?? `${driver}/${pool}/${device}`;
        if (resources.has(resourceID)) continue;
        const message = healthMessage === undefined ? {} : { message: healthMessage };
        resources.set(resourceID, { resourceID, health, ...message });
      }
    }
    return { name: `claim:${name}${request === '' ? '' : `/${request}`}`, resources: [...resources.values()] };
  });
  return named.filter(({ resources }) => resources.length > 0);
}
