import { type Cancel, KubusError, type Logger, hasErrno, toError } from '@kubus/ports';
import type { BigIntStats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FolderListing, ManifestFolder } from './file-source.ts';
import { FolderWatch } from './folder-watch.ts';

/** Bytes. The reference has the same limit for manifests from a URL. */
const MAX_FILE_SIZE = 10 * 1024 * 1024;
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

/** Thrown when an existing manifest cannot be used, or a folder cannot be read. */
export class ManifestFileError extends KubusError {}

/**
 * A folder of manifests on this machine, or one manifest file. Names that start with a dot are not manifests;
 * subfolders are ignored. Links are followed, and so is a folder that is removed and created again. A file with
 * unchanged times and size is not read again.
 */
export class FileManifestFolder implements ManifestFolder {
  readonly path: string;
  readonly #logger: Logger;
  /** By path: what was read last. */
  #known = new Map<string, KnownFile>();
  #watch: FolderWatch | undefined;

  constructor({ path, logger }: { path: string; logger: Logger }) {
    this.path = path;
    this.#logger = logger;
  }

  async read(): Promise<FolderListing> {
    const moved = this.#watch?.takeMoved();
    const paths = await this.#list();
    const files: { path: string; text: string }[] = [];
    const errors: { path: string; error: Error }[] = [];
    const known = new Map<string, KnownFile>();
    const readOne = async (path: string) => {
      try {
        const file = await readManifestFile(path, this.#known.get(path));
        if (file === undefined) return;
        files.push({ path, text: file.text });
        known.set(path, file);
      } catch (thrown) {
        errors.push({ path, error: toError(thrown) });
      }
    };
    for (let i = 0; i < (paths?.length ?? 0); i += CONCURRENT_READS) {
      await Promise.all(paths?.slice(i, i + CONCURRENT_READS).map(readOne) ?? []);
    }
    this.#known = known;
    const returned = new Set(paths?.filter((path) => moved?.has(basename(path))));
    return { files, errors, missing: paths === undefined, returned };
  }

  onChange(listener: () => void): Cancel {
    const watch = new FolderWatch(this.path, listener, this.#logger);
    this.#watch = watch;
    return () => watch.close();
  }

  /** The paths of possible manifests; undefined when there is no such folder or file. */
  async #list(): Promise<string[] | undefined> {
    try {
      if (!(await stat(this.path)).isDirectory()) return [this.path];
      const names = await readdir(this.path);
      return names.filter((name) => !name.startsWith('.')).map((name) => join(this.path, name));
    } catch (cause) {
      if (hasErrno(cause, 'ENOENT', 'ENOTDIR')) return undefined;
      const options = { cause, context: { path: this.path } };
      throw new ManifestFileError('manifest-folder', `${this.path}: ${toError(cause).message}`, options);
    }
  }
}

/** A manifest file; undefined when it is a folder, or was removed since it was listed. */
async function readManifestFile(path: string, known: KnownFile | undefined): Promise<KnownFile | undefined> {
  try {
    // Before it is opened: opening a pipe waits for its other end.
    const before = await stat(path, { bigint: true });
    if (before.isDirectory()) return undefined;
    checkFile(path, before);
    if (known?.stamp !== undefined && known.stamp === stampOf(before)) return known;
    const file = await open(path);
    try {
      const stats = await file.stat({ bigint: true });
      checkFile(path, stats);
      const isOld = Date.now() - Number(stats.ctimeMs) > SAME_TIME_MS;
      return { stamp: isOld ? stampOf(stats) : undefined, text: decode(path, await file.readFile()) };
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof ManifestFileError) throw cause;
    if (hasErrno(cause, 'ENOENT', 'ENOTDIR')) return undefined;
    throw fileError(path, toError(cause).message, cause);
  }
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
