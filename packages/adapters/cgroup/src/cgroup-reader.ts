import {
  type CgroupNaming,
  type CgroupTier,
  type CgroupUsage,
  type MachineMemory,
  type UsageDetail,
  cgroupOfContainer,
  hasCounted,
  podOfCgroup,
  tierPath,
  unchangedUsage,
  usageV1,
  usageV2,
} from '@kubus/cgroup-config';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupMounts } from './hierarchies.ts';
import { KeptFiles } from './kept-files.ts';

interface CgroupReaderOptions extends Partial<CgroupNaming> {
  readonly mounts: CgroupMounts;
  /** Files that are kept open at most. Default: 8192. */
  readonly files?: number;
}

interface Known {
  /** By file: what stays as it is until it is written. */
  readonly settings: Map<string, string | undefined>;
  /** What it used when it was read last, and which reading of all that was. */
  usage: CgroupUsage | undefined;
  readAt: number;
  /** The first reading of those that have found what the one before them did. */
  stillSince: number;
}

export interface ReadOptions {
  /** For the root cgroup: what the machine has and uses. */
  readonly machine?: MachineMemory | undefined;
  /**
   * A cgroup above this one that has been read just now, with as much detail. While nothing is counted there, nothing is here, and
   * what is known of this one is not read again.
   */
  readonly within?: string | undefined;
}

const TIERS: readonly CgroupTier[] = ['pods', 'burstable', 'besteffort'];

/**
 * Reads what cgroups use. Paths are below the mounts of the hierarchies, such as `/kubepods/podu`. Nothing is read unless a caller
 * asks, and nothing but what is asked for; files stay open until they are let go, see {@link KeptFiles}.
 */
export class CgroupReader {
  readonly naming: CgroupNaming;
  readonly #mounts: CgroupMounts;
  readonly #files: KeptFiles;
  /** Where every cgroup is found. */
  readonly #mount: string;
  /** What is known of cgroups that were read. */
  readonly #known = new Map<string, Known>();
  /** Readings of cgroups so far. */
  #readings = 0;

  constructor({ root = '/', driver = 'cgroupfs', mounts, files = 8192 }: CgroupReaderOptions) {
    this.naming = { root, driver };
    this.#mounts = mounts;
    this.#files = new KeptFiles(files);
    this.#mount = mounts.controllers.get('memory') ?? [...mounts.controllers.values()][0] ?? '';
  }

  /** Files that are open. */
  get open(): number {
    return this.#files.count;
  }

  /**
   * What the cgroup uses; undefined when there is none. Its limits and weights are those of the first reading since they were
   * forgotten: see {@link forgetSettings}. Where none of its processes has run since the reading before, what only they change is not read
   * again.
   */
  read(path: string, detail: UsageDetail, { machine, within }: ReadOptions = {}): CgroupUsage | undefined {
    const { version, controllers, unified } = this.#mounts;
    const read = (controller: string, file: string) => {
      const mount = controller === '' ? unified : controllers.get(controller);
      return mount === undefined ? undefined : this.#files.read(mount, path, file);
    };
    let known = this.#known.get(path);
    if (known === undefined) {
      this.#known.set(path, (known = { settings: new Map(), usage: undefined, readAt: 0, stillSince: Infinity }));
    }
    const { settings, usage: before } = known;
    if (before !== undefined && this.#isUnchanged(within, known.readAt)) {
      const unchanged = unchangedUsage(before, detail, (file) => read('', file));
      if (unchanged !== undefined) return (known.usage = unchanged);
    }
    const setting = (controller: string, file: string) => {
      if (!settings.has(file)) settings.set(file, read(controller, file));
      return settings.get(file);
    };
    const source = { read, setting, before };
    const ofMachine = path === '/' ? machine : undefined;
    known.usage = version === 1 ? usageV1(source, detail, ofMachine) : usageV2(source, detail, ofMachine);
    known.readAt = this.#readings += 1;
    const isStill = before !== undefined && known.usage !== undefined && !hasCounted(before, known.usage);
    known.stillSince = isStill ? Math.min(known.stillSince, known.readAt) : Infinity;
    return known.usage;
  }

  /**
   * Whether what was read then is what would be read now. The kernel adds some up a moment later in one cgroup than in the one above, so that what
   * was read in the same round as a change there does not count.
   */
  #isUnchanged(above: string | undefined, readAt: number): boolean {
    const known = above === undefined ? undefined : this.#known.get(above);
    return known !== undefined && known.stillSince < readAt;
  }

  /** The cgroups of the tiers of the node's pods, that of all pods first. */
  tiers(): string[] {
    return TIERS.map((tier) => tierPath(this.naming, tier));
  }

  /** When a cgroup was made, in milliseconds since the Unix epoch; undefined when there is none. */
  madeAt(path: string): number | undefined {
    return statSync(join(this.#mount, path), { throwIfNoEntry: false })?.mtimeMs;
  }

  /** The cgroup of each pod that has one, by its UID. */
  pods(): Map<string, string> {
    const found = new Map<string, string>();
    for (const tier of this.tiers()) {
      for (const name of this.#below(tier)) {
        const uid = podOfCgroup(name, this.naming.driver);
        if (uid !== undefined) found.set(uid, `${tier}/${name}`);
      }
    }
    return found;
  }

  /** The cgroups of a pod's containers and sandboxes, by the runtime's ids. Those that are not there are missing. */
  containers(pod: string, ids: readonly string[]): Map<string, string> {
    const names = this.#below(pod);
    const found = new Map<string, string>();
    for (const id of ids) {
      const name = cgroupOfContainer(names, id);
      if (name !== undefined) found.set(id, join(pod, name));
    }
    return found;
  }

  /** The processes in the cgroup itself; none when it is not there. */
  processes(path: string): number[] {
    const text = this.#files.read(this.#mount, path, 'cgroup.procs') ?? '';
    return text.split('\n').flatMap((line) => (line === '' ? [] : Number(line)));
  }

  /** The next reading of this cgroup, or of every one, reads its limits and weights again. */
  forgetSettings(path?: string): void {
    if (path === undefined) this.#known.clear();
    else this.#known.delete(path);
  }

  /** Closes the files of all cgroups of which `isKept` says no. */
  release(isKept: (path: string) => boolean): void {
    this.#files.release(isKept);
    for (const path of this.#known.keys()) if (!isKept(path)) this.#known.delete(path);
  }

  #below(path: string): string[] {
    try {
      const entries = readdirSync(join(this.#mount, path), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch {
      // It has not been made, or was removed.
      return [];
    }
  }
}
