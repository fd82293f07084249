import type { PodTimeline } from '@kubus/contracts/observatory';

type PodDevice = NonNullable<PodTimeline['devices']>[number];
type PodClaim = NonNullable<PodTimeline['claims']>[number];

/** A device of a plugin, and the container that has it. */
export function deviceWords({ container, resource, id, nodes }: PodDevice): string {
  return `${container}: ${resource} ${id}${nodes === '' ? '' : `, NUMA node ${nodes}`}`;
}

/** A device of a claim, and how it is. */
export function claimWords({ claim, driver, device, health }: PodClaim): string {
  return `claim ${claim}: ${device} of ${driver}, ${health}`;
}
