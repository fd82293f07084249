import {
  type CgroupLimits,
  type UnitProperty,
  limitProperties,
  roundedLimits,
  sliceProperties,
  unitOf,
} from '@kubus/cgroup-config';
import { KubusError, toError } from '@kubus/ports';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupMounts } from './hierarchies.ts';

/** Thrown when a cgroup could not be made, or the kernel or systemd refused one of its limits. */
export class CgroupError extends KubusError {}

/** What creates and removes cgroups: the node itself, or systemd. */
export interface CgroupMaker {
  /** The limits as a cgroup of this maker has them. */
  limitsOf(limits: CgroupLimits): CgroupLimits;
  /**
   * Creates the cgroup where it is missing, with all above it, in the hierarchies of these controllers. Throws {@link CgroupError}.
   *
   * @param limits what systemd enforces too
   */
  make(path: string, limits: CgroupLimits, controllers: ReadonlySet<string>): Promise<void>;
  /** Says what an existing cgroup may use to a program that would reset it. Throws {@link CgroupError}. */
  change(path: string, limits: CgroupLimits): Promise<void>;
  /** Ends what has been made, before the folders that are left are removed. Throws {@link CgroupError}. */
  end(path: string): Promise<void>;
}

/** The driver `cgroupfs`: cgroups are folders. */
export class FolderMaker implements CgroupMaker {
  readonly #mounts: CgroupMounts;

  constructor(mounts: CgroupMounts) {
    this.#mounts = mounts;
  }

  limitsOf(limits: CgroupLimits): CgroupLimits {
    return limits;
  }

  async make(path: string, _: CgroupLimits, wanted: ReadonlySet<string>): Promise<void> {
    const mounts = [...this.#mounts.controllers].flatMap(([name, mount]) => (wanted.has(name) ? [mount] : []));
    let isNew = false;
    for (const mount of new Set(mounts)) {
      const folder = join(mount, path);
      isNew = (await attempt(folder, () => mkdir(folder, { recursive: true }))) !== undefined || isNew;
    }
    if (isNew) await handDown(this.#mounts, path);
  }

  change(): Promise<void> {
    return Promise.resolve();
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}

/** systemd's manager of units, see `Systemd` of @kubus/dbus. */
export interface UnitManager {
  /** Returns false when the unit exists. */
  startTransientUnit(unit: string, properties: readonly UnitProperty[]): Promise<boolean>;
  startUnit(unit: string): Promise<void>;
  setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  stopUnit(unit: string): Promise<void>;
}

/** Of v1: whose hierarchies systemd makes cgroups in. */
const OF_SYSTEMD: ReadonlySet<string> = new Set(['cpu', 'cpuacct', 'memory', 'pids', 'blkio', 'devices']);

/**
 * The driver `systemd`: each cgroup is a transient slice, which systemd makes and removes, and whose limits it applies again when it
 * reloads (behaviour:qos-and-cgroups).
 */
export class SliceMaker implements CgroupMaker {
  readonly #mounts: CgroupMounts;
  readonly #units: UnitManager;
  /** Paths of slices that systemd has started for this process. */
  readonly #started = new Set<string>();

  constructor(mounts: CgroupMounts, units: UnitManager) {
    this.#mounts = mounts;
    this.#units = units;
  }

  limitsOf(limits: CgroupLimits): CgroupLimits {
    return roundedLimits(limits);
  }

  async make(path: string, limits: CgroupLimits, wanted: ReadonlySet<string>): Promise<void> {
    const { version, controllers } = this.#mounts;
    if (this.#started.has(path) && this.#exists(path)) return this.change(path, limits);
    const properties = limitProperties(limits, version);
    await attempt(unitOf(path), async () => {
      const unit = unitOf(path);
      if (await this.#units.startTransientUnit(unit, [...sliceProperties(path, version), ...properties])) return;
      // Of an earlier agent, or started by systemd for a container: it has other limits, and may have been stopped.
      await this.#units.setUnitProperties(unit, properties);
      await this.#units.startUnit(unit);
    });
    this.#started.add(path);
    if (version === 2) return handDown(this.#mounts, path);
    // systemd makes nothing in hierarchies of controllers that it does not know.
    for (const [name, mount] of controllers) {
      const folder = join(mount, path);
      if (wanted.has(name) && !OF_SYSTEMD.has(name)) await attempt(folder, () => mkdir(folder, { recursive: true }));
    }
  }

  async change(path: string, limits: CgroupLimits): Promise<void> {
    const properties = limitProperties(limits, this.#mounts.version);
    if (properties.length === 0) return;
    await attempt(unitOf(path), () => this.#units.setUnitProperties(unitOf(path), properties));
  }

  async end(path: string): Promise<void> {
    this.#started.delete(path);
    await attempt(unitOf(path), () => this.#units.stopUnit(unitOf(path)));
  }

  #exists(path: string): boolean {
    const { controllers } = this.#mounts;
    const mount = controllers.get('memory') ?? controllers.get('cpu');
    return mount !== undefined && existsSync(join(mount, path));
  }
}

/**
 * Gives the cgroups directly below the topmost one all controllers, as making that of all pods does (behaviour:qos-and-cgroups): systemd hands
 * down only what its own units need. Throws {@link CgroupError}.
 */
export async function handDownFromTop(mounts: CgroupMounts): Promise<void> {
  await handDown(mounts, '/kubepods');
}

/** In v2 a cgroup has the controllers that its parent hands down: here all, as the runtime does for its containers. */
async function handDown({ version, controllers }: CgroupMounts, path: string): Promise<void> {
  const [mount] = controllers.values();
  if (version === 1 || mount === undefined) return;
  let folder = mount;
  for (const part of path.split('/').filter((one) => one !== '')) {
    const control = join(folder, 'cgroup.subtree_control');
    const has = new Set((await attempt(control, () => readFile(control, 'utf8'))).trim().split(' '));
    const missing = [...controllers.keys()].filter((name) => !has.has(name)).map((name) => `+${name}`);
    if (missing.length > 0) {
      await writeFile(control, missing.join(' ')).catch(async () => {
        // One of them cannot be handed down here. Where a limit needs it, its file is missing, and that is the error.
        for (const name of missing) await writeFile(control, name).catch(() => undefined);
      });
    }
    folder = join(folder, part);
  }
}

/** Runs an action on a file or a unit. Throws {@link CgroupError} that names it. */
export async function attempt<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    const kind = what.startsWith('/') ? 'file ' : '';
    throw new CgroupError('cgroup', `cgroup ${kind}${what}: ${toError(cause).message}`, { cause, context: { what } });
  }
}
