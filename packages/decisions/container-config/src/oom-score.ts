import type { Container, Pod } from '@kubus/contracts';
import { isNodeCritical, qosClass } from '@kubus/pod';
import { requestOf, units } from './amounts.ts';

const GUARANTEED = -997;
const BEST_EFFORT = 1000;

/**
 * How soon the kernel kills a container when the node runs out of memory (behaviour:qos-and-cgroups): the smaller its
 * request in proportion to the node's memory, the sooner. A sidecar is never killed before the regular containers that it serves.
 *
 * @param memoryCapacity bytes of memory of the node
 */
export function oomScoreAdj(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'name' | 'resources'>,
  memoryCapacity: bigint,
): number {
  if (isNodeCritical(pod)) return GUARANTEED;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return GUARANTEED;
  if (qos === 'BestEffort') return BEST_EFFORT;
  const share = podShare(pod);
  const score = burstable(memoryRequest(container) + share, memoryCapacity);
  if (!isSidecar(pod, container)) return score;
  const regular = pod.spec.containers.map(memoryRequest);
  const least = regular.reduce((least, request) => (request < least ? request : least), regular[0] ?? 0n);
  return Math.min(score, burstable(least + share, memoryCapacity));
}

/** Always between Guaranteed and BestEffort, whatever the request. */
function burstable(request: bigint, capacity: bigint): number {
  const score = capacity === 0n ? BEST_EFFORT : BEST_EFFORT - Number((1000n * request) / capacity);
  return Math.min(BEST_EFFORT - 1, Math.max(BEST_EFFORT + GUARANTEED, score));
}

/** The pod-level request beyond those of its containers, distributed over those that run together (KEP-2837). */
function podShare({ spec }: Pick<Pod, 'spec'>): bigint {
  const whole = units(spec.resources?.requests?.['memory']);
  if (whole === 0n) return 0n;
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const together = [...spec.containers, ...sidecars];
  const rest = together.reduce((rest, container) => rest - memoryRequest(container), whole);
  return rest <= 0n ? 0n : rest / BigInt(together.length);
}

function memoryRequest(container: Pick<Container, 'resources'>): bigint {
  return units(requestOf(container, 'memory'));
}

function isSidecar({ spec }: Pick<Pod, 'spec'>, { name }: Pick<Container, 'name'>): boolean {
  return (spec.initContainers ?? []).some((init) => init.name === name && init.restartPolicy === 'Always');
}
