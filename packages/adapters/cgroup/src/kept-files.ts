import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** The kernel gives out a list in pieces of a page: what is shorter than this is all of it. */
const WHOLE = 3_500;

/** Where a file would be that is not there. */
const MISSING = -1;

/** What is being read: nothing else runs meanwhile. */
let buffer = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * Small files of the kernel that are read again and again: kept open, which makes reading one of them three to ten times
 * cheaper. They are in memory and read at once, without leaving the event loop. A cgroup of which files are open can be removed
 * all the same.
 */
export class KeptFiles {
  readonly #most: number;
  /** Descriptors by the folder and the name of the file. */
  readonly #folders = new Map<string, Map<string, number>>();
  #open = 0;

  /** @param most files that are kept open; others are opened each time */
  constructor(most: number) {
    this.#most = most;
  }

  /** Files that are open. */
  get count(): number {
    return this.#open;
  }

  /**
   * The text of a file; undefined when it is not there. That is not asked again before the folder was let go.
   *
   * @param folder below the mount; its files are let go together
   * @param file its name, of which there is one in all mounts
   */
  read(mount: string, folder: string, file: string): string | undefined {
    let files = this.#folders.get(folder);
    if (files === undefined) this.#folders.set(folder, (files = new Map<string, number>()));
    const kept = files.get(file);
    if (kept === MISSING) return undefined;
    const descriptor = kept ?? opened(join(mount, folder, file));
    const text = descriptor === MISSING ? undefined : this.#text(descriptor);
    if (text === undefined) {
      files.set(file, MISSING);
      this.#close(descriptor, kept !== undefined);
    } else if (kept === undefined) {
      if (this.#open < this.#most) this.#keep(files, file, descriptor);
      else this.#close(descriptor, false);
    }
    return text;
  }

  /** Closes the files of all folders of which `isKept` says no. */
  release(isKept: (folder: string) => boolean): void {
    for (const [folder, files] of this.#folders) {
      if (isKept(folder)) continue;
      this.#folders.delete(folder);
      for (const descriptor of files.values()) this.#close(descriptor, true);
    }
  }

  #keep(files: Map<string, number>, file: string, descriptor: number): void {
    files.set(file, descriptor);
    this.#open += 1;
  }

  #close(descriptor: number, wasKept: boolean): void {
    if (descriptor === MISSING) return;
    closeSync(descriptor);
    if (wasKept) this.#open -= 1;
  }

  /** Undefined when the cgroup of the file was removed. */
  #text(descriptor: number): string | undefined {
    let length = 0;
    for (;;) {
      const read = readInto(descriptor, buffer, length);
      if (read === undefined) return undefined;
      length += read;
      if (read < WHOLE) return buffer.toString('latin1', 0, length);
      if (buffer.length - length < WHOLE) buffer = Buffer.concat([buffer], buffer.length * 2);
    }
  }
}

/** The text of a file of the kernel, opened for this once; undefined when it is not there. */
export function textOf(file: string): string | undefined {
  const files = new KeptFiles(0);
  return files.read('', '', file);
}

function opened(file: string): number {
  try {
    return openSync(file, 'r');
  } catch {
    return MISSING;
  }
}

function readInto(descriptor: number, buffer: Buffer, at: number): number | undefined {
  try {
    return readSync(descriptor, buffer, at, buffer.length - at, at);
  } catch {
    return undefined;
  }
}
