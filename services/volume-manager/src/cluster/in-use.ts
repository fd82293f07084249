import type { Bus, FactOwner } from '@kubus/bus';
import { type VolumesInUse, uniqueCsiVolume, volumesInUse } from '@kubus/contracts';
import { isDeepEqual } from '@kubus/pod';
import type { KnownObjects, VolumePlan } from '@kubus/volume';
import type { CsiUse } from '../csi/csi-use-records.ts';

/**
 * Publishes which volumes have to stay attached to the node: those that pods need, from when that is known until
 * nothing of them is mounted any more (reference kubelet, GetVolumesInUse). Publishes nothing before all pods are
 * known, since what is missing in the fact may be detached.
 */
export class InUse {
  readonly #node: string;
  readonly #facts: FactOwner<VolumesInUse>;
  readonly #uses: () => readonly CsiUse[];
  readonly #known: Pick<KnownObjects, 'csiDriver'>;
  /** By pod UID: the volumes that it needs. */
  readonly #wanted = new Map<string, readonly string[]>();
  #published: readonly string[] | undefined;

  constructor(options: { bus: Bus; uses: () => readonly CsiUse[]; known: Pick<KnownObjects, 'csiDriver'> }) {
    this.#node = options.bus.node;
    this.#facts = options.bus.owner(volumesInUse);
    this.#uses = options.uses;
    this.#known = options.known;
  }

  /** The volumes that the pod needs; undefined: none any more. */
  want(uid: string, plans: readonly VolumePlan[] | undefined): void {
    const names = (plans ?? []).flatMap(({ attachable }) => attachable ?? []);
    if (names.length === 0) this.#wanted.delete(uid);
    else this.#wanted.set(uid, names);
  }

  /** To be called after each change, once all pods are known. */
  publish(): void {
    const used = this.#uses().filter(({ driver, inline }) => !inline && this.#isAttached(driver));
    const volumes = [...new Set([...[...this.#wanted.values()].flat(), ...used.map(uniqueCsiVolume)])].sort();
    if (isDeepEqual(volumes, this.#published)) return;
    const isFirst = this.#published === undefined;
    this.#published = volumes;
    this.#facts.put(this.#node, { volumes });
    if (isFirst) this.#facts.complete();
  }

  /** Volumes of a driver without a CSIDriver object are attached. */
  #isAttached(name: string): boolean {
    const driver = this.#known.csiDriver(name);
    return driver === undefined || driver === 'missing' || driver.attachRequired;
  }
}
