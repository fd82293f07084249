import { fnv128a } from '@kubus/pod';

/**
 * The instance that owns a pod: the one with the greatest weight, a hash of both. Each one owns about as many pods as the
 * others, and when an instance is added or removed only its own pods move (rendezvous hashing, Thaler and Ravishankar
 * 1998). Every service computes the same owner.
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

/** Hashed twice: the last bytes of FNV-1a's input hardly change its first digits, by which weights compare. */
function weightOf(uid: string, instance: string): string {
  return fnv128a(fnv128a(`${instance} ${uid}`));
}
