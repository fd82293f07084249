import { type Cancel, KubusError, type Logger, hasErrno, ignoring, toError } from '@kubus/ports';
import type { BigIntStats } from 'node:fs';
import { open, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FolderListing, ManifestFolder } from './file-source.ts';
import { folderNames } from './folder-names.ts';
import { FolderWatch } from './folder-watch.ts';

/** Bytes. The reference has the same limit for manifests from a URL. */
const MAX_FILE_SIZE = 10 * 1024 * 1024;
/** Bytes of all manifests of a folder together: each is kept in memory, and so are its pods. */
const MAX_FOLDER_SIZE = 32 * 1024 * 1024;
/** Manifests of a folder that are read; hidden names do not count. */
const MAX_FILES = 10_000;
/** Files that are read at the same time. */
const CONCURRENT_READS = 16;
/** Milliseconds within which a second change may leave a file's times unchanged. */
const SAME_TIME_MS = 100;

/** A file as it was read. */
interface KnownFile {
  /** Identifies its version; undefined when a change might leave it unchanged. */
  readonly stamp: string | undefined;
  readonly text: string;
}

type ListedError = FolderListing['errors'][number];

/** Thrown when an existing manifest cannot be used, or a folder cannot be read. */
export class ManifestFileError extends KubusError {}

/** A link that leads to no file. */
class DanglingLink extends ManifestFileError {}

/**
 * A folder of manifests on this machine, or one manifest file. Names that start with a dot are not manifests;
 * subfolders are ignored. Links are followed, and so is a folder that is removed and created again. A file with
 * unchanged times and size is not read again.
 */
export class FileManifestFolder implements ManifestFolder {
  readonly path: string;
  readonly #logger: Logger;
  readonly #maxFiles: number;
  /** By path: what was read last. */
  #known = new Map<string, KnownFile>();
  #watch: FolderWatch | undefined;

  /** @param options.maxFiles how many manifests are read; default: 10,000 */
  constructor({ path, logger, maxFiles = MAX_FILES }: { path: string; logger: Logger; maxFiles?: number }) {
    this.path = path;
    this.#logger = logger;
    this.#maxFiles = maxFiles;
  }

  async read(): Promise<FolderListing> {
    const moved = this.#watch?.takeMoved();
    const { paths, errors, missing } = await this.#list();
    const files: { path: string; text: string }[] = [];
    const known = new Map<string, KnownFile>();
    const failed = (path: string, thrown: unknown) => void errors.push({ path, ...failureOf(path, thrown) });
    const readOne = async ({ path, stats }: FoundFile) => {
      try {
        const file = await readManifestFile(path, stats, this.#known.get(path));
        if (file === undefined) return;
        files.push({ path, text: file.text });
        known.set(path, file);
      } catch (thrown) {
        failed(path, thrown);
      }
    };
    let size = 0n;
    for (let i = 0; i < paths.length; i += CONCURRENT_READS) {
      const found = await Promise.all(
        paths
          .slice(i, i + CONCURRENT_READS)
          .map((path) => findManifest(path).catch((thrown: unknown) => failed(path, thrown))),
      );
      // In the order of their names, so that the same ones are read each time.
      const within = found.filter((file) => {
        if (file === undefined) return false;
        if (size + file.stats.size <= MAX_FOLDER_SIZE) {
          size += file.stats.size;
          return true;
        }
        failed(file.path, fileError(file.path, `not read: manifests of one folder may have ${MAX_FOLDER_SIZE} bytes`));
        return false;
      });
      await Promise.all(within.flatMap((file) => (file === undefined ? [] : [readOne(file)])));
    }
    this.#known = known;
    return { files, errors, missing, returned: new Set(paths.filter((path) => moved?.has(basename(path)))) };
  }

  onChange(listener: () => void): Cancel {
    const watch = new FolderWatch(this.path, listener, this.#logger);
    this.#watch = watch;
    return () => watch.close();
  }

  /** The paths of possible manifests, and what is wrong with others. */
  async #list(): Promise<{ paths: string[]; errors: ListedError[]; missing: boolean }> {
    const { path } = this;
    try {
      if (!(await stat(path)).isDirectory()) return { paths: [path], errors: [], missing: false };
      const { names, more, unreadable } = await folderNames(path, this.#maxFiles);
      const errors = unreadable.map((name) => {
        const file = join(path, name);
        return { path: file, error: fileError(file, 'its name is not UTF-8'), gone: true };
      });
      const paths = names.map((name) => join(path, name));
      if (more === 0) return { paths, errors, missing: false };
      const tooMany = fileError(path, `${more} files are not read: a folder may have ${this.#maxFiles}`);
      return { paths, errors: [...errors, { path, error: tooMany, gone: true }], missing: false };
    } catch (cause) {
      if (hasErrno(cause, 'ENOENT', 'ENOTDIR')) return { paths: [], errors: [], missing: true };
      const options = { cause, context: { path } };
      throw new ManifestFileError('manifest-folder', `${path}: ${toError(cause).message}`, options);
    }
  }
}

interface FoundFile {
  readonly path: string;
  readonly stats: BigIntStats;
}

/** Before it is opened: opening a pipe waits for its other end. Undefined for a folder, or what was removed since it was listed. */
async function findManifest(path: string): Promise<FoundFile | undefined> {
  const stats = await ignoring(['ENOENT', 'ENOTDIR'], stat(path, { bigint: true }));
  if (stats === undefined) {
    const target = await ignoring(['ENOENT', 'ENOTDIR', 'EINVAL'], readlink(path));
    if (target === undefined) return undefined;
    throw new DanglingLink('manifest-file', `${path}: a link to ${target}, which does not exist`, {
      context: { path },
    });
  }
  if (stats.isDirectory()) return undefined;
  checkFile(path, stats);
  return { path, stats };
}

/** Undefined for a file that was removed since it was found. */
async function readManifestFile(
  path: string,
  before: BigIntStats,
  known: KnownFile | undefined,
): Promise<KnownFile | undefined> {
  if (known?.stamp !== undefined && known.stamp === stampOf(before)) return known;
  const file = await ignoring(['ENOENT', 'ENOTDIR'], open(path));
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat({ bigint: true });
    checkFile(path, stats);
    const isOld = Date.now() - Number(stats.ctimeMs) > SAME_TIME_MS;
    return { stamp: isOld ? stampOf(stats) : undefined, text: decode(path, await file.readFile()) };
  } finally {
    await file.close();
  }
}

function failureOf(path: string, thrown: unknown): Omit<ListedError, 'path'> {
  if (thrown instanceof DanglingLink) return { error: thrown, gone: true };
  if (thrown instanceof ManifestFileError) return { error: thrown };
  return { error: fileError(path, toError(thrown).message, thrown) };
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fileError(path, 'not UTF-8 text', cause);
  }
}

function checkFile(path: string, entry: BigIntStats): void {
  if (!entry.isFile()) throw fileError(path, 'not a regular file');
  if (entry.size > MAX_FILE_SIZE) {
    throw fileError(path, `${entry.size} bytes are more than a manifest may have (${MAX_FILE_SIZE})`);
  }
}

function fileError(path: string, message: string, cause?: unknown): ManifestFileError {
  return new ManifestFileError('manifest-file', `${path}: ${message}`, { cause, context: { path } });
}
