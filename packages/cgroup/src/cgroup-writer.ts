import { type CgroupLimits, cgroupFiles } from '@kubus/cgroup-config';
import { KubusError, toError } from '@kubus/ports';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupMounts } from './hierarchies.ts';

/** A cgroup could not be made, or the kernel refused one of its limits. */
export class CgroupError extends KubusError {}

/** Makes cgroups and writes their limits, in the hierarchies of the controllers that limit something. */
export class CgroupWriter {
  readonly #mounts: CgroupMounts;
  /** What each file got last, so that what is as it should be costs nothing. */
  readonly #written = new Map<string, string>();

  constructor(mounts: CgroupMounts) {
    this.#mounts = mounts;
  }

  get mounts(): CgroupMounts {
    return this.#mounts;
  }

  /**
   * Makes the cgroup at `path` where it is missing, with all above it, and writes what differs from the last time. A
   * controller that the machine does not have limits nothing.
   *
   * Throws {@link CgroupError} that names the file.
   */
  async ensure(path: string, limits: CgroupLimits): Promise<void> {
    const { version, controllers } = this.#mounts;
    const files = cgroupFiles(limits, version).filter(({ controller }) => controllers.has(controller));
    const made = new Set<string>();
    for (const { controller, file, value } of files) {
      const mount = controllers.get(controller) ?? '';
      if (!made.has(mount)) {
        made.add(mount);
        await this.#make(mount, path, new Set(files.map((one) => one.controller)));
      }
      await this.#write(join(mount, path, file), value);
    }
  }

  /** Forgets what was written into the cgroup at `path`, which is gone. */
  forget(path: string): void {
    for (const mount of new Set(this.#mounts.controllers.values())) {
      const folder = join(mount, path, '/');
      for (const file of this.#written.keys()) if (file.startsWith(folder)) this.#written.delete(file);
    }
  }

  async #make(mount: string, path: string, wanted: ReadonlySet<string>): Promise<void> {
    const first = await attempt(join(mount, path), () => mkdir(join(mount, path), { recursive: true }));
    if (first === undefined) return;
    this.forget(path);
    if (this.#mounts.version === 1) return;
    // In v2 a cgroup has the controllers that its parent hands down.
    const names = [...wanted].map((name) => `+${name}`).join(' ');
    let folder = mount;
    for (const part of path.split('/').filter((one) => one !== '')) {
      const control = join(folder, 'cgroup.subtree_control');
      const has = new Set((await attempt(control, () => readFile(control, 'utf8'))).trim().split(' '));
      if ([...wanted].some((name) => !has.has(name))) await attempt(control, () => writeFile(control, names));
      folder = join(folder, part);
    }
  }

  async #write(file: string, value: string): Promise<void> {
    if (this.#written.get(file) === value) return;
    await attempt(file, () => writeFile(file, value));
    this.#written.set(file, value);
  }
}

async function attempt<T>(file: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    throw new CgroupError('cgroup', `cgroup file ${file}: ${toError(cause).message}`, { cause, context: { file } });
  }
}
