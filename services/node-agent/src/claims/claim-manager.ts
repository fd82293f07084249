import type { Bus, Cause, CommandContext, FactOwner } from '@kubus/bus';
import { type ClaimUse, type PodRef, type PreparedClaim, prepareClaims, unprepareClaims } from '@kubus/contracts';
import {
  type AllocatedClaim,
  type ClaimLedger,
  type KnownClaim,
  allocatedClaim,
  byDriver,
  claimKey,
  claimUsers,
  claimsOf,
  healthOf,
  isLastUser,
  isPrepared,
  resourceClaimSchema,
  withDevices,
  withPod,
  withoutPod,
} from '@kubus/dra';
import { Lanes } from '@kubus/flow';
import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { type Cancel, type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { ClaimCheckpoint } from './claim-checkpoint.ts';
import type { ClaimDrivers } from './claim-drivers.ts';
import type { DeviceHealths } from './device-healths.ts';

/** How soon it is tried again to undo the claims of pods that have ended, in milliseconds (behaviour:resource-managers, DRA). */
const RECONCILE_MS = 60_000;

interface PrepareRequest {
  readonly ref: PodRef;
  readonly claims: readonly { readonly claim: string; readonly owned: boolean }[];
  readonly started: boolean;
}

export interface ClaimManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fact: FactOwner<ClaimUse>;
  readonly checkpoint: ClaimCheckpoint;
  /** What the checkpoint says. */
  readonly ledger: ClaimLedger;
  readonly drivers: ClaimDrivers;
  readonly healths: DeviceHealths;
  /** Undefined: the node has no API server, and so no resource claims. */
  readonly client: KubeRequester | undefined;
  /** Called before anything is prepared for a pod. */
  readonly requested: (uid: string) => void;
  /** Whether a pod has ended. */
  readonly isEnded: (uid: string) => boolean;
  /** Measures what is done for a pod. */
  readonly timed: <T>(operation: 'PrepareResources' | 'UnprepareResources', work: () => Promise<T>) => Promise<T>;
}

/**
 * Has drivers prepare the claims of pods, and undo that (behaviour:resource-managers, DRA). Each claim has one lane: what pods that share it
 * want of it happens one after the other; a pod has the lanes of all its claims at once. A claim that is about to be prepared is in the
 * checkpoint first, and stays there until every driver has undone it.
 */
export class ClaimManager {
  readonly #options: ClaimManagerOptions;
  /** One lane per claim. */
  readonly #lanes = new Lanes();
  /** One lane per pod: what it no longer wants is undone after it was prepared. */
  readonly #pods = new Lanes();
  #ledger: ClaimLedger;
  /** UIDs of the claims that this process has had prepared. */
  readonly #own = new Set<string>();
  #again: Cancel | undefined;

  constructor(options: ClaimManagerOptions) {
    this.#options = options;
    this.#ledger = options.ledger;
    for (const uid of claimUsers(this.#ledger)) this.#publish(uid);
    options.fact.complete();
    const { bus, timed } = options;
    bus.serve(prepareClaims, (command) => {
      command.begin();
      options.requested(command.key);
      return answered('prepare dynamic resources', () =>
        timed('PrepareResources', () => this.#pods.run(command.key, () => this.#prepare(command.request, command))),
      );
    });
    bus.serve(unprepareClaims, (command) => {
      command.begin();
      return answered('unprepare dynamic resources', () =>
        timed('UnprepareResources', () =>
          this.#pods.run(command.key, () => this.#unprepare(command.key, [command.cause])),
        ),
      );
    });
  }

  stop(): void {
    this.#again?.();
  }

  /** Claims that drivers have prepared, by driver. */
  get inUse(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const claim of this.#ledger.values()) {
      if (!isPrepared(claim)) continue;
      for (const driver of ['<any>', ...Object.keys(claim.drivers)]) counts.set(driver, (counts.get(driver) ?? 0) + 1);
    }
    return counts.has('<any>') ? counts : new Map([['<any>', 0]]);
  }

  /** Undoes what a pod uses, or what all pods use, that have ended without having it undone. */
  sweep(uid?: string): void {
    const { isEnded } = this.#options;
    const users = claimUsers(this.#ledger);
    for (const one of uid === undefined ? users : [uid]) {
      if (users.has(one) && isEnded(one)) void this.#sweepOne(one);
    }
  }

  async #sweepOne(uid: string): Promise<void> {
    const { clock, isEnded, logger } = this.#options;
    try {
      await this.#pods.run(uid, async () => {
        if (isEnded(uid)) await this.#unprepare(uid, []);
      });
    } catch (error) {
      logger.warn({ podUid: uid, err: toError(error) }, 'the claims of a pod that has ended cannot be unprepared yet');
      this.#again?.();
      this.#again = clock.after(RECONCILE_MS, () => {
        this.#again = undefined;
        this.sweep();
      });
    }
  }

  async #prepare({ ref, claims, started }: PrepareRequest, { cause }: Pick<CommandContext<unknown>, 'cause'>) {
    const known = claimsOf(this.#ledger, ref.uid);
    const isKnown = claims.every(({ claim }) => known.some((one) => one.name === claim && isPrepared(one)));
    if (started && isKnown) return { claims: this.#claimsOf(ref.uid) };
    const allocated: AllocatedClaim[] = [];
    for (const claim of claims) {
      const found = allocatedClaim(ref, claim, await this.#read(ref.namespace, claim.claim));
      if ('problem' in found) throw new KubusError('refused', found.problem);
      for (const driver of found.drivers) this.#options.drivers.check(driver);
      allocated.push(found);
    }
    try {
      await this.#lanes.runInAll(allocated.map(claimKey), () => this.#prepareAll(allocated, ref.uid));
    } finally {
      this.#publish(ref.uid, [cause]);
      this.sweep(ref.uid);
    }
    return { claims: this.#claimsOf(ref.uid) };
  }

  /** Each driver is called once for all claims of the pod that are not prepared. With an error, the next attempt calls all of them again. */
  async #prepareAll(claims: readonly AllocatedClaim[], pod: string): Promise<void> {
    const { drivers } = this.#options;
    const next = withPod(this.#ledger, claims, pod);
    if ('problem' in next) throw new KubusError('refused', next.problem);
    this.#ledger = next;
    // Whatever happens from here on, somebody knows that drivers may have something to undo.
    await this.#write();
    const known = [...new Set(claims.map(claimKey))].flatMap((key) => next.get(key) ?? []);
    const due = known.filter((claim) => !(this.#own.has(claim.uid) && isPrepared(claim)));
    for (const [driver, of] of byDriver(due)) {
      const prepared = await drivers.prepare(driver, of);
      for (const claim of of) {
        this.#ledger = withDevices(this.#ledger, claimKey(claim), driver, prepared.get(claim.uid) ?? []);
      }
    }
    if (due.length === 0) return;
    await this.#write();
    for (const { uid } of due) this.#own.add(uid);
  }

  async #unprepare(uid: string, causes: readonly Cause[]): Promise<Record<string, never>> {
    try {
      const keys = claimsOf(this.#ledger, uid).map(claimKey);
      await this.#lanes.runInAll(keys, () => this.#unprepareAll(uid));
    } finally {
      this.#publish(uid, causes);
    }
    return {};
  }

  /** Claims that other pods use are left at once; each driver is called once for the others, which stay known until all have answered. */
  async #unprepareAll(pod: string): Promise<void> {
    const claims = claimsOf(this.#ledger, pod);
    if (claims.length === 0) return;
    const last = claims.filter((claim) => isLastUser(claim, pod));
    const leave = (claim: KnownClaim) => {
      this.#ledger = withoutPod(this.#ledger, claimKey(claim), pod);
    };
    for (const claim of claims) if (!last.includes(claim)) leave(claim);
    for (const [driver, of] of byDriver(last)) await this.#options.drivers.unprepare(driver, of);
    for (const claim of last) {
      leave(claim);
      this.#own.delete(claim.uid);
    }
    await this.#write();
  }

  async #write(): Promise<void> {
    try {
      await this.#options.checkpoint.write(() => this.#ledger);
    } catch (error) {
      throw new KubusError('not-written', `checkpoint ResourceClaim state: ${toError(error).message}`, {
        cause: error,
      });
    }
  }

  async #read(namespace: string, name: string) {
    const { client } = this.#options;
    if (client === undefined) {
      throw new KubusError(
        'no-api',
        `ResourceClaim ${name}: this node has no API server, so there are no resource claims`,
      );
    }
    try {
      const path = kubePath({ group: 'resource.k8s.io', version: 'v1', namespace, resource: 'resourceclaims', name });
      return resourceClaimSchema.parse(await client.request({ method: 'GET', path }));
    } catch (error) {
      const said = error instanceof KubeError ? error.said : undefined;
      throw new KubusError('unread', `fetch ResourceClaim ${name}: ${said ?? toError(error).message}`, {
        cause: error,
      });
    }
  }

  /** Says of all pods that use the driver whether it can be called, and how their devices are. */
  driverChanged(driver: string): void {
    for (const uid of claimUsers(this.#ledger)) {
      if (claimsOf(this.#ledger, uid).some(({ drivers }) => driver in drivers)) this.#publish(uid);
    }
  }

  #claimsOf(pod: string): PreparedClaim[] {
    const { drivers: registered, healths } = this.#options;
    return claimsOf(this.#ledger, pod).map(({ name, uid, drivers }) => ({
      name,
      uid,
      drivers: Object.entries(drivers).flatMap(([driver, devices]) =>
        devices === undefined
          ? []
          : [
              {
                driver,
                connected: registered.isConnected(driver),
                devices: devices.map((one) => ({ ...one, ...healthOf(healths.of(driver), one) })),
              },
            ],
      ),
    }));
  }

  #publish(uid: string, causes: readonly Cause[] = []): void {
    const claims = this.#claimsOf(uid);
    if (claims.length > 0) this.#options.fact.put(uid, { claims }, { pod: uid, causes });
    else this.#options.fact.remove(uid, { pod: uid, causes });
  }
}

async function answered<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new KubusError('claims', `${what}: ${toError(error).message}`, { cause: error });
  }
}
