import type { IdRange } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod-manifest';

/** Ids of the host, those of users and of groups alike, that user namespaces of pods are made of. */
export interface IdPool {
  readonly first: number;
  readonly count: number;
  /** How many each pod gets (userNamespaces.idsPerPod). */
  readonly idsPerPod: number;
}

/** Ids have 32 bits; the last value stands for none, and the kernel maps no range with it. */
const END = 2 ** 32 - 1;

/** All ids but those below `idsPerPod`, which are the host's own (kubelet behaviour 1.20, User namespaces). */
export function wholePool(idsPerPod: number): IdPool {
  return { first: idsPerPod, count: Math.floor((END - idsPerPod) / idsPerPod) * idsPerPod, idsPerPod };
}

/**
 * The ids that belong to a user, as getsubids(1) tells them. Undefined unless there is exactly one range, and the same one
 * for users and groups.
 *
 * @param uids what `getsubids USER` says, such as `0: kubelet 65536 2147483648`
 * @param gids what `getsubids -g USER` says
 */
export function subordinateIds(uids: string, gids: string): Pick<IdPool, 'first' | 'count'> | undefined {
  const [, first, count] = /^\d+: \S+ (\d+) (\d+)$/.exec(uids.trim()) ?? [];
  if (uids !== gids || first === undefined) return undefined;
  return { first: Number(first), count: Number(count) };
}

/** Why user namespaces can not be made of these ids; undefined when they can. */
export function poolProblem({ first, count, idsPerPod }: IdPool, maxPods: number): string | undefined {
  const of = `a multiple of ${idsPerPod}, the ids of a pod`;
  if (first < idsPerPod) return `the first id, ${first}, is below ${idsPerPod}: it may be the host's own`;
  if (first % idsPerPod !== 0) return `the first id, ${first}, is not ${of}`;
  if (count % idsPerPod !== 0) return `their number, ${count}, is not ${of}`;
  if (count / idsPerPod < maxPods) return `${count} ids are not enough for ${maxPods} pods with ${idsPerPod} ids each`;
  return undefined;
}

/**
 * A range of which nothing is taken; undefined when there is none. The search begins at a place that follows from the pod's
 * UID: should what was written down of a pod be lost, it most likely gets the ids again that its processes have, and nobody
 * else gets them meanwhile.
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
