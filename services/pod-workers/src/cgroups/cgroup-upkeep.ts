import { type ClassedPod, CgroupBusy } from '@kubus/cgroup';
import type { Pod } from '@kubus/contracts';
import { namesIn } from '@kubus/filesystem';
import { qosClass } from '@kubus/pod';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { podsFolder } from '@kubus/volume';
import { join } from 'node:path';

/** The cgroups that are looked after, see `PodCgroupTree`. */
interface KeptCgroups {
  pods(): Promise<ReadonlySet<string>>;
  refresh(pods: Iterable<ClassedPod>): Promise<void>;
  starve(uid: string): Promise<void>;
  remove(uid: string): Promise<void>;
}

export interface CgroupUpkeepOptions {
  /** The node's folder for pods. */
  readonly root: string;
  readonly cgroups: KeptCgroups;
  /** The pods of this instance that have not ended. */
  readonly activePods: () => readonly Pod[];
  /** Whether the pod may be desired, or may have local state; true for every pod until all pods are known. */
  readonly mayExist: (uid: string) => boolean;
  /** Whether this instance removes the cgroups of unknown pods: one of all does. */
  readonly removes: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds from the start to the first look, and to the next one while something is to be removed. */
const SOON_MS = 10_000;
/** Milliseconds between looks otherwise, and between two updates of the tiers (behaviour:qos-and-cgroups). */
const EVERY_MS = 60_000;

/**
 * Keeps the pods' cgroups as they are to be: gives those above the pods their limits again, and removes those of pods that do not exist, of
 * an earlier agent (behaviour:housekeeping). What runs in such a cgroup is killed. A pod has to be unknown in two looks, because another
 * instance may know it sooner than this one. While the pod's volumes are mounted, its cgroup stays, with the least share of the CPUs: what is
 * in memory would be charged to the cgroup above.
 */
export class CgroupUpkeep {
  readonly #options: CgroupUpkeepOptions;
  /** Pods that were unknown in the last look. */
  #suspects: ReadonlySet<string> = new Set();
  #refreshedAt = -Infinity;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: CgroupUpkeepOptions) {
    this.#options = options;
    this.#after(SOON_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  /** Looks once, immediately. Resolves with whether something is left to be removed soon. Never rejects. */
  async look(): Promise<boolean> {
    await this.#logged('updating the cgroups above the pods failed', () => this.#refresh());
    let left = false;
    if (this.#options.removes) {
      await this.#logged('looking for cgroups of unknown pods failed', async () => {
        left = await this.#removeOrphans();
      });
    }
    return left;
  }

  #after(ms: number): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.after(
      ms,
      () => void this.look().then((left) => this.#after(left ? SOON_MS : EVERY_MS)),
    );
  }

  async #refresh(): Promise<void> {
    const { clock, cgroups, activePods } = this.#options;
    if (clock.now() - this.#refreshedAt < EVERY_MS) return;
    this.#refreshedAt = clock.now();
    await cgroups.refresh(activePods().map((pod) => ({ pod, qos: qosClass(pod) })));
  }

  async #removeOrphans(): Promise<boolean> {
    const { cgroups, mayExist } = this.#options;
    const before = this.#suspects;
    const unknown = [...(await cgroups.pods())].filter((uid) => !mayExist(uid));
    this.#suspects = new Set(unknown);
    let left = unknown.some((uid) => !before.has(uid));
    for (const uid of unknown) {
      if (!before.has(uid) || mayExist(uid)) continue;
      await this.#logged('removing the cgroup of an unknown pod failed', async () => {
        left = (await this.#remove(uid)) || left;
      });
    }
    return left;
  }

  /** Resolves with whether it has to be done again. */
  async #remove(uid: string): Promise<boolean> {
    const { cgroups, logger, root } = this.#options;
    if ((await namesIn(join(podsFolder(root), uid, 'volumes'))).length > 0) {
      await cgroups.starve(uid);
      return false;
    }
    try {
      await cgroups.remove(uid);
      logger.info({ podUid: uid }, 'removed the cgroup of an unknown pod');
      return false;
    } catch (error) {
      if (error instanceof CgroupBusy) return true;
      throw error;
    }
  }

  async #logged(what: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#options.logger.error({ err: toError(error) }, what);
    }
  }
}
