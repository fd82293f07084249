import type { IdRange } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod';

/** Ids of the host, those of users and of groups alike, from which the user namespaces of pods are allocated. */
export interface IdPool {
  readonly first: number;
  readonly count: number;
  /** Number of ids for each pod (userNamespaces.idsPerPod). */
  readonly idsPerPod: number;
}

/** Ids have 32 bits; the last value means "no id", and the kernel maps no range that contains it. */
const END = 2 ** 32 - 1;

/** All ids except those below `idsPerPod`, which are the host's own (behaviour:qos-and-cgroups, User namespaces). */
export function wholePool(idsPerPod: number): IdPool {
  return { first: idsPerPod, count: Math.floor((END - idsPerPod) / idsPerPod) * idsPerPod, idsPerPod };
}

/**
 * The subordinate ids of a user, parsed from the output of getsubids(1). Undefined unless there is exactly one range, which is
 * the same one for users and groups.
 *
 * @param uids output of `getsubids USER`, such as `0: kubelet 65536 2147483648`
 * @param gids output of `getsubids -g USER`
 */
export function subordinateIds(uids: string, gids: string): Pick<IdPool, 'first' | 'count'> | undefined {
  const [, first, count] = /^\d+: \S+ (\d+) (\d+)$/.exec(uids.trim()) ?? [];
  if (uids !== gids || first === undefined) return undefined;
  return { first: Number(first), count: Number(count) };
}

/** Why user namespaces cannot be created from these ids; undefined when they can. */
export function poolProblem({ first, count, idsPerPod }: IdPool, maxPods: number): string | undefined {
  const of = `a multiple of ${idsPerPod}, the ids of a pod`;
  if (first < idsPerPod) return `the first id, ${first}, is below ${idsPerPod}: it may be the host's own`;
  if (first % idsPerPod !== 0) return `the first id, ${first}, is not ${of}`;
  if (count % idsPerPod !== 0) return `their number, ${count}, is not ${of}`;
  if (count / idsPerPod < maxPods) return `${count} ids are not enough for ${maxPods} pods with ${idsPerPod} ids each`;
  return undefined;
}

/**
 * A free range; undefined when there is none. The search starts at a position derived from the pod's UID: if the pod's
 * record is lost, the pod most likely gets the ids that its processes have, and no other pod gets them meanwhile.
 */
export function freeRange(
  { first, count, idsPerPod }: IdPool,
  uid: string,
  taken: readonly IdRange[],
): IdRange | undefined {
  const ranges = Math.floor(Math.min(count, END - first) / idsPerPod);
  const start = Number.parseInt(fnv128a(uid).slice(-8), 16);
  for (let step = 0; step < ranges; step += 1) {
    const range = { hostId: first + ((start + step) % ranges) * idsPerPod, length: idsPerPod };
    if (!taken.some((other) => overlap(range, other))) return range;
  }
  return undefined;
}

function overlap(a: IdRange, b: IdRange): boolean {
  return a.hostId < b.hostId + b.length && b.hostId < a.hostId + a.length;
}
