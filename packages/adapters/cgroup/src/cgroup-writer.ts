import { type CgroupFile, type CgroupLimits, cgroupFiles } from '@kubus/cgroup-config';
import { hasErrno } from '@kubus/ports';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CgroupMaker, attempt } from './cgroup-maker.ts';
import type { CgroupMounts } from './hierarchies.ts';

/** What was written into a file, and how the kernel shows it: `-1` as a great number, sizes as whole pages. */
interface Written {
  readonly value: string;
  readonly shown: string | undefined;
}

interface PlacedFile extends CgroupFile {
  readonly path: string;
}

/** Gives cgroups their limits, in the hierarchies of the controllers that limit something. */
export class CgroupWriter {
  readonly #mounts: CgroupMounts;
  readonly #maker: CgroupMaker;
  /** By path of the file: what it got last. */
  readonly #written = new Map<string, Written>();

  constructor(mounts: CgroupMounts, maker: CgroupMaker) {
    this.#mounts = mounts;
    this.#maker = maker;
  }

  get mounts(): CgroupMounts {
    return this.#mounts;
  }

  /**
   * Makes the cgroup at `path` where it is missing, with all above it, and gives it the limits. Reads its files, and does nothing more where
   * all are as they were written. A controller that the machine does not have limits nothing.
   *
   * Throws {@link CgroupError} that names the file or the unit.
   */
  async ensure(path: string, limits: CgroupLimits): Promise<void> {
    const made = this.#maker.limitsOf(limits);
    const files = this.#files(path, made);
    if (files.length > 0 && files.every((file) => this.#isAsWritten(file))) return;
    await this.#maker.make(path, made, new Set(files.map(({ controller }) => controller)));
    await this.#write(files);
  }

  /** Gives an existing cgroup, which is not the node's own, these limits. Throws {@link CgroupError}. */
  async change(path: string, limits: CgroupLimits): Promise<void> {
    const made = this.#maker.limitsOf(limits);
    await this.#maker.change(path, made);
    await this.#write(this.#files(path, made));
  }

  /** What the maker does before the folders of the cgroup at `path` are removed. Throws {@link CgroupError}. */
  async end(path: string): Promise<void> {
    await this.#maker.end(path);
    for (const mount of new Set(this.#mounts.controllers.values())) {
      const folder = join(mount, path, '/');
      for (const file of this.#written.keys()) if (file.startsWith(folder)) this.#written.delete(file);
    }
  }

  #files(path: string, limits: CgroupLimits): PlacedFile[] {
    const { version, controllers } = this.#mounts;
    return cgroupFiles(limits, version).flatMap((file) => {
      const mount = controllers.get(file.controller);
      return mount === undefined ? [] : [{ ...file, path: join(mount, path, file.file) }];
    });
  }

  /** These files are in memory: to read them without leaving the event loop costs a tenth of what it costs otherwise. */
  #isAsWritten({ path, value, optional }: PlacedFile): boolean {
    const written = this.#written.get(path);
    if (written?.value !== value) return false;
    return written.shown === undefined ? optional === true : written.shown === shown(path);
  }

  async #write(files: readonly PlacedFile[]): Promise<void> {
    for (const { path, value, optional } of files) {
      await attempt(path, () =>
        writeFile(path, value).catch((error: unknown) => {
          // In a cgroup no file can be created.
          if (optional !== true || !hasErrno(error, 'ENOENT', 'EACCES', 'EPERM')) throw error;
        }),
      );
      this.#written.set(path, { value, shown: shown(path) });
    }
  }
}

function shown(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
