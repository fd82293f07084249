import { maySwap } from '@kubus/container-config';
import type { Container, Pod, PodAllocation, Refusal } from '@kubus/contracts';
import type { ExclusivePolicies } from '@kubus/exclusive';
import { isStatic, qosClass } from '@kubus/pod';
import { type Neighbour, admit } from '../admit/admit.ts';
import { withAllocation } from '../allocation.ts';
import { amount, claimOf } from '../claim.ts';
import type { AdmissionNode } from '../admission-node.ts';

/** A resize that will never be granted; every other reason means that it is deferred (KEP-1287). */
export const INFEASIBLE = 'Infeasible';

/** Why a resize is infeasible that would change how much swap a container gets. */
export const SWAP_LIMITATION = 'In-place resize of containers with swap is not supported.';

/**
 * Why a pod cannot have the resources that it requests instead of the allocated ones (behaviour:resize);
 * undefined when it can. `neighbours`: the other pods on the node.
 */
export function refuseResize(
  pod: Pod,
  granted: PodAllocation,
  neighbours: readonly Neighbour[],
  node: AdmissionNode,
): Refusal | undefined {
  if (isStatic(pod)) return infeasible('In-place resize of static-pods is not supported');
  if (qosClass(pod) !== qosClass(withAllocation(pod, granted))) {
    return infeasible('Pod QOS Class may not change as a result of resizing');
  }
  if (node.limitedSwap === true && changesSwap(pod, withAllocation(pod, granted))) {
    return infeasible(SWAP_LIMITATION);
  }
  const pinned = pinnedResource(pod, granted, node);
  if (pinned !== undefined) return infeasible(`Resize is infeasible for Guaranteed Pods alongside ${pinned}`);
  const admission = admit(pod, neighbours, node);
  if (!admission.admitted) return admission.refusal;
  // No pod is preempted for the resize of another one.
  if (admission.victims.length > 0) return { reason: 'Deferred', message: 'less important pods use the resources' };
  return undefined;
}

/** The manager that has allocated what a Guaranteed pod wants to change, and its policy. */
function pinnedResource(pod: Pod, granted: PodAllocation, { exclusive }: AdmissionNode): string | undefined {
  if (exclusive === undefined || qosClass(pod) !== 'Guaranteed') return undefined;
  const had = withAllocation(pod, granted);
  const isChanged = (resource: string) =>
    changes(containersOf(pod), containersOf(had), resource) ||
    (isExclusiveAsWhole(had, exclusive) && changes([pod.spec], [had.spec], resource));
  if (exclusive.cpus && isChanged('cpu')) return 'CPU Manager policy "static"';
  return exclusive.memory && isChanged('memory') ? 'Memory Manager policy "Static"' : undefined;
}

/**
 * Whether what is exclusive in the pod depends on what it requests as a whole: it has its things as a whole, or it would have none any more.
 * The reference does not ask for this: its managers refuse such a resize in other words, allocate a second time, or keep what they gave.
 */
function isExclusiveAsWhole(had: Pod, { podLevel }: ExclusivePolicies): boolean {
  return podLevel === 'pod' || (podLevel === undefined && had.spec.resources === undefined);
}

type Sized = Pick<Container, 'resources'>;

function changes(wanted: readonly Sized[], had: readonly Sized[], resource: string): boolean {
  const requests = (all: readonly Sized[]) =>
    all.map(({ resources }) => amount(resource, resources?.requests?.[resource] ?? resources?.limits?.[resource]));
  const before = requests(had);
  return requests(wanted).some((one, index) => one !== before[index]);
}

function containersOf({ spec }: Pod): readonly Container[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}

/** Whether a container that may swap would get another share of the swap, which follows from its memory request, without a restart. */
function changesSwap(wanted: Pod, had: Pod): boolean {
  const request = ({ resources }: Container) => amount('memory', resources?.requests?.['memory']);
  return containersOf(wanted).some((container) => {
    const before = containersOf(had).find(({ name }) => name === container.name);
    if (before === undefined || request(before) === request(container)) return false;
    const policy = before.resizePolicy?.find(({ resourceName }) => resourceName === 'memory')?.restartPolicy;
    return policy !== 'RestartContainer' && (maySwap(wanted, container) || maySwap(had, before));
  });
}

/** A pod that requests resources other than those it has, and since when (RFC 3339, UTC). */
export interface WantedResize {
  readonly pod: Pod;
  readonly granted: PodAllocation;
  readonly since: string;
}

/**
 * The order in which resizes are decided (behaviour:resize): those that need no additional resources, then by priority, QoS
 * class and waiting time.
 */
export function compareResizes(a: WantedResize, b: WantedResize): number {
  return (
    Number(isIncrease(a)) - Number(isIncrease(b)) ||
    (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) ||
    Number(qosClass(a.pod) !== 'Guaranteed') - Number(qosClass(b.pod) !== 'Guaranteed') ||
    (a.since < b.since ? -1 : Number(a.since > b.since))
  );
}

function isIncrease({ pod, granted }: WantedResize): boolean {
  const wanted = claimOf(pod).requests;
  const had = claimOf(withAllocation(pod, granted)).requests;
  return ['cpu', 'memory'].some((name) => amount(name, wanted[name]) > amount(name, had[name]));
}

function infeasible(message: string): Refusal {
  return { reason: INFEASIBLE, message };
}
