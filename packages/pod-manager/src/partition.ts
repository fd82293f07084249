import { fnv128a } from '@kubus/pod-manifest';

/**
 * The one of several instances that has a pod: that with the greatest weight, a hash of both. So each has about as many
 * pods as the others, and when one comes or goes only its own pods move (rendezvous hashing, Thaler and Ravishankar 1998).
 * Every service comes to the same answer by itself.
 *
 * @param instances at least one, in any order
 */
export function ownerOf(uid: string, instances: readonly string[]): string {
  const [first = '', ...others] = instances;
  if (others.length === 0) return first;
  let owner = { instance: first, weight: weightOf(uid, first) };
  for (const instance of others) {
    const weight = weightOf(uid, instance);
    if (weight > owner.weight || (weight === owner.weight && instance > owner.instance)) owner = { instance, weight };
  }
  return owner.instance;
}

/** Hashed twice: the last bytes of what FNV-1a hashes hardly reach its first digits, by which weights compare. */
function weightOf(uid: string, instance: string): string {
  return fnv128a(fnv128a(`${instance} ${uid}`));
}
