import { type Cancel, KubusError, type Logger, hasErrno, toError } from '@kubus/ports';
import type { Stats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FolderListing, ManifestFolder } from './file-source.ts';
import { FolderWatch } from './folder-watch.ts';

/** Bytes. The reference has the same limit for manifests from a URL. */
const MAX_FILE_SIZE = 10 * 1024 * 1024;
/** Files that are read at the same time. */
const CONCURRENT_READS = 16;

/** A manifest that is there and cannot be used, or a folder whose content is not known. */
export class ManifestFileError extends KubusError {}

/**
 * A folder of manifests on this machine, or one manifest file. Names that start with a dot are no manifests; folders
 * within the folder are left alone. Links are followed, and so is a folder that is removed and made again.
 */
export class FileManifestFolder implements ManifestFolder {
  readonly path: string;
  readonly #logger: Logger;

  constructor({ path, logger }: { path: string; logger: Logger }) {
    this.path = path;
    this.#logger = logger;
  }

  async read(): Promise<FolderListing> {
    const paths = await this.#list();
    const files: { path: string; text: string }[] = [];
    const errors: { path: string; error: Error }[] = [];
    const readOne = async (path: string) => {
      try {
        const text = await readManifestFile(path);
        if (text !== undefined) files.push({ path, text });
      } catch (thrown) {
        errors.push({ path, error: toError(thrown) });
      }
    };
    for (let i = 0; i < (paths?.length ?? 0); i += CONCURRENT_READS) {
      await Promise.all(paths?.slice(i, i + CONCURRENT_READS).map(readOne) ?? []);
    }
    return { files, errors, missing: paths === undefined };
  }

  onChange(listener: () => void): Cancel {
    const watch = new FolderWatch(this.path, listener, this.#logger);
    return () => watch.close();
  }

  /** The paths of what may be manifests; undefined when there is no such folder or file. */
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

/** The text of a manifest file; undefined when it is a folder, or has gone since it was listed. */
async function readManifestFile(path: string): Promise<string | undefined> {
  try {
    // Before it is opened: opening a pipe waits for its other end.
    const before = await stat(path);
    if (before.isDirectory()) return undefined;
    checkFile(path, before);
    const file = await open(path);
    try {
      checkFile(path, await file.stat());
      return decode(path, await file.readFile());
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof ManifestFileError) throw cause;
    if (hasErrno(cause, 'ENOENT', 'ENOTDIR')) return undefined;
    throw fileError(path, toError(cause).message, cause);
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fileError(path, 'not UTF-8 text', cause);
  }
}

function checkFile(path: string, entry: Stats): void {
  if (!entry.isFile()) throw fileError(path, 'not a regular file');
  if (entry.size > MAX_FILE_SIZE) {
    throw fileError(path, `${entry.size} bytes are more than a manifest may have (${MAX_FILE_SIZE})`);
  }
}

function fileError(path: string, message: string, cause?: unknown): ManifestFileError {
  return new ManifestFileError('manifest-file', `${path}: ${message}`, { cause, context: { path } });
}
