import type { ClaimDevice } from '@kubus/contracts';
import type { AllocatedClaim } from './allocated-claim.ts';
import type { ClaimProblem } from './pod-claims.ts';

/** A claim that a driver was asked, or is about to be asked, to prepare. */
export interface KnownClaim {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** UIDs of the pods that use it. */
  readonly pods: readonly string[];
  /** By driver: the devices it has prepared; undefined while it has not answered. */
  readonly drivers: Readonly<Record<string, readonly ClaimDevice[] | undefined>>;
}

/** The claims of a node, by {@link claimKey}. Values never change. */
export type ClaimLedger = ReadonlyMap<string, KnownClaim>;

/** The place of a claim: two claims of one name are one after the other, never both. */
export function claimKey({ namespace, name }: Pick<KnownClaim, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * The ledger in which the pod uses the claims: what has to be written before a driver is called. A problem: an earlier claim of such a
 * name is still prepared.
 */
export function withPod(
  ledger: ClaimLedger,
  claims: readonly AllocatedClaim[],
  pod: string,
): ClaimLedger | ClaimProblem {
  let next = ledger;
  for (const claim of claims) {
    const changed = withUser(next, claim, pod);
    if ('problem' in changed) return changed;
    next = changed;
  }
  return next;
}

function withUser(ledger: ClaimLedger, claim: AllocatedClaim, pod: string): ClaimLedger | ClaimProblem {
  const key = claimKey(claim);
  const known = ledger.get(key);
  if (known === undefined) {
    const { uid, name, namespace } = claim;
    const drivers = Object.fromEntries(claim.drivers.map((driver) => [driver, undefined]));
    return new Map(ledger).set(key, { uid, name, namespace, pods: [pod], drivers });
  }
  if (known.uid !== claim.uid) {
    const what = `old ResourceClaim with same name ${known.name} and different UID ${known.uid} still exists`;
    return { problem: `${what} (previous pod force-deleted?!)` };
  }
  return known.pods.includes(pod) ? ledger : new Map(ledger).set(key, { ...known, pods: [...known.pods, pod] });
}

/** The ledger with a driver's answer for a claim; unchanged when the claim is no longer in it. */
export function withDevices(
  ledger: ClaimLedger,
  key: string,
  driver: string,
  devices: readonly ClaimDevice[],
): ClaimLedger {
  const known = ledger.get(key);
  if (known === undefined) return ledger;
  return new Map(ledger).set(key, { ...known, drivers: { ...known.drivers, [driver]: devices } });
}

/** The claims that each driver has a part in: one call of the driver has them all. */
export function byDriver(claims: readonly KnownClaim[]): ReadonlyMap<string, readonly KnownClaim[]> {
  const found = new Map<string, KnownClaim[]>();
  for (const claim of claims) {
    for (const driver of Object.keys(claim.drivers)) found.set(driver, [...(found.get(driver) ?? []), claim]);
  }
  return found;
}

/** Whether the pod is the only user of the claim, which therefore has to be unprepared before the pod may leave it. */
export function isLastUser({ pods }: KnownClaim, pod: string): boolean {
  return pods.every((one) => one === pod);
}

/** The ledger in which the pod does not use the claim; a claim without users is in it no longer. */
export function withoutPod(ledger: ClaimLedger, key: string, pod: string): ClaimLedger {
  const known = ledger.get(key);
  if (known === undefined) return ledger;
  const next = new Map(ledger);
  if (isLastUser(known, pod)) next.delete(key);
  else next.set(key, { ...known, pods: known.pods.filter((one) => one !== pod) });
  return next;
}

/** The claims that a pod uses. */
export function claimsOf(ledger: ClaimLedger, pod: string): readonly KnownClaim[] {
  return [...ledger.values()].filter(({ pods }) => pods.includes(pod));
}

/** All pods that use a claim. */
export function claimUsers(ledger: ClaimLedger): ReadonlySet<string> {
  return new Set([...ledger.values()].flatMap(({ pods }) => pods));
}

/** Every driver of the claim has answered. */
export function isPrepared({ drivers }: KnownClaim): boolean {
  return Object.values(drivers).every((devices) => devices !== undefined);
}
