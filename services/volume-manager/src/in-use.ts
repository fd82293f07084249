import type { Bus, FactOwner } from '@kubus/bus';
import { type VolumesInUse, uniqueCsiVolume, volumesInUse } from '@kubus/contracts';
import type { KnownObjects, VolumePlan } from '@kubus/volume';
import type { CsiUse } from './csi/csi-books.ts';

/**
 * Tells which volumes have to be attached to the node: those that pods are to use, from when that is known until nothing of
 * them is mounted any more (reference kubelet, GetVolumesInUse). Nothing is told before all pods are known: what is missing
 * may be detached.
 */
export class InUse {
  readonly #node: string;
  readonly #facts: FactOwner<VolumesInUse>;
  readonly #uses: () => readonly CsiUse[];
  readonly #known: Pick<KnownObjects, 'csiDriver'>;
  /** By pod: the volumes that it is to use. */
  readonly #wanted = new Map<string, readonly string[]>();
  #told: string | undefined;

  constructor(options: { bus: Bus; uses: () => readonly CsiUse[]; known: Pick<KnownObjects, 'csiDriver'> }) {
    this.#node = options.bus.node;
    this.#facts = options.bus.owner(volumesInUse);
    this.#uses = options.uses;
    this.#known = options.known;
  }

  /** What the pod is to use; undefined: nothing any more. */
  want(uid: string, plans: readonly VolumePlan[] | undefined): void {
    const names = (plans ?? []).flatMap(({ attachable }) => attachable ?? []);
    if (names.length === 0) this.#wanted.delete(uid);
    else this.#wanted.set(uid, names);
  }

  /** To be called after each change, once all pods are known. */
  tell(): void {
    const used = this.#uses().filter(({ driver, inline }) => !inline && this.#isAttached(driver));
    const volumes = [...new Set([...[...this.#wanted.values()].flat(), ...used.map(uniqueCsiVolume)])].sort();
    const text = JSON.stringify(volumes);
    if (text === this.#told) return;
    const isFirst = this.#told === undefined;
    this.#told = text;
    this.#facts.put(this.#node, { volumes });
    if (isFirst) this.#facts.complete();
  }

  /** A driver of which the cluster says nothing is one whose volumes are attached. */
  #isAttached(name: string): boolean {
    const driver = this.#known.csiDriver(name);
    return driver === undefined || driver === 'missing' || driver.attachRequired;
  }
}
