import type { Container, Pod, PreparedClaim } from '@kubus/contracts';
import { type ClaimProblem, claimOf } from './pod-claims.ts';

/** What of a claim a container uses. */
interface ClaimUse {
  readonly claim: string;
  /** A request of the claim, without the name of a subrequest; empty: all of them. */
  readonly request: string;
}

type ClaimPod = Pick<Pod, 'metadata' | 'spec' | 'status'>;
type ClaimContainer = Pick<Container, 'name' | 'resources'>;

/**
 * What a container uses of its pod's claims: what its `resources.claims` name, and the requests that stand for its extended resources
 * (KEP-5004).
 */
function containerClaims(pod: ClaimPod, container: ClaimContainer): readonly ClaimUse[] | ClaimProblem {
  const uses: ClaimUse[] = [];
  const named = container.resources?.claims ?? [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    const asked = named.filter(({ name }) => name === entry.name);
    if (asked.length === 0) continue;
    const claim = claimOf(pod, entry);
    if (claim === undefined) continue;
    if ('problem' in claim) return claim;
    uses.push(...asked.map(({ request = '' }) => ({ claim: claim.claim, request: baseRequest(request) })));
  }
  return [...uses, ...extendedUses(pod, container)];
}

/** The names of the ResourceClaims that a container uses, each once. */
export function containerClaimNames(pod: ClaimPod, container: ClaimContainer): readonly string[] {
  const uses = containerClaims(pod, container);
  return 'problem' in uses ? [] : [...new Set(uses.map(({ claim }) => claim))];
}

/**
 * The CDI devices of a container, each once, in the order of its claims. A device that serves no particular request is for everyone
 * who uses the claim.
 */
export function claimDevices(
  pod: ClaimPod,
  container: ClaimContainer,
  claims: readonly PreparedClaim[],
): readonly string[] | ClaimProblem {
  const uses = containerClaims(pod, container);
  if ('problem' in uses) return uses;
  const found = new Set<string>();
  for (const { claim, request } of uses) {
    const prepared = claims.find(({ name }) => name === claim);
    if (prepared === undefined) {
      const what = `unable to get claim info for ResourceClaim ${claim}`;
      return { problem: `internal error: ${what} in namespace ${pod.metadata.namespace}` };
    }
    for (const { devices } of prepared.drivers) {
      for (const { requests, cdiDevices } of devices) {
        const serves = request === '' || requests.length === 0 || requests.some((one) => baseRequest(one) === request);
        if (serves) for (const id of cdiDevices) found.add(id);
      }
    }
  }
  return [...found];
}

function extendedUses({ status }: ClaimPod, { name, resources }: ClaimContainer): readonly ClaimUse[] {
  const extended = status?.extendedResourceClaimStatus;
  if (extended === undefined) return [];
  const asked = { ...resources?.limits, ...resources?.requests };
  return extended.requestMappings
    .filter((one) => one.containerName === name && one.resourceName in asked)
    .map(({ requestName }) => ({ claim: extended.resourceClaimName, request: baseRequest(requestName) }));
}

/** `request` of `request/subrequest`: drivers name devices by the request. */
export function baseRequest(reference: string): string {
  return reference.split('/')[0] ?? '';
}
