import { LogUnavailable, type RotatedLog, rotatedLogs } from '@kubus/container-log';
import { filesIn } from '@kubus/filesystem';
import { hasErrno, toError } from '@kubus/ports';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type LogFile, openCompressed, openPlain } from './log-file.ts';

/** The open files of a log at one moment. */
export interface OpenLog {
  /**
   * Oldest first. The last one is the current file, or was: between its rename and the creation of the next file it has the
   * name of a rotated one.
   */
  readonly files: readonly LogFile[];
  /** The name of the newest rotated file; empty when there is none. */
  readonly newest: string;
}

/** Maximum number of attempts to open files that are renamed meanwhile. Rotations are seconds apart. */
const TRIES = 10;

/** The files of the log of one run: the current one and the rotated ones. */
export class LogFiles {
  readonly folder: string;
  readonly #path: string;
  readonly #name: string;

  /** @param path of the current file */
  constructor(path: string) {
    this.#path = path;
    this.folder = dirname(path);
    this.#name = basename(path);
  }

  /** Opens all of them. Throws {@link LogUnavailable} when there is none. */
  async open(): Promise<OpenLog> {
    const log = await this.openAfter('');
    if (log.files.length > 0) return log;
    throw new LogUnavailable(`the log ${this.#path} cannot be read: does not exist`);
  }

  /** Opens those that were created after the one that was rotated to `base`. Throws {@link LogUnavailable}. */
  async openAfter(base: string): Promise<OpenLog> {
    for (let tried = 1; ; tried++) {
      const opened: LogFile[] = [];
      try {
        const before = await this.#rotatedAfter(base);
        for (const one of before) opened.push(await this.#openOne(one));
        const current = await openPlain(this.#path).catch(undefinedIfMissing);
        if (current !== undefined) opened.push(current);
        const newest = before.at(-1)?.base ?? base;
        // Otherwise the last opened file may have been rotated before it was opened, or one in between may be missing.
        if ((await this.#rotatedAfter(newest)).length === 0) {
          return { files: opened, newest };
        }
      } catch (error) {
        if (!hasErrno(error, 'ENOENT')) throw this.#unreadable(error);
      }
      await closeAll(opened);
      if (tried === TRIES) throw this.#unreadable('its files do not stay for long enough to be opened');
    }
  }

  /** Whether there is a current file that differs from this one. */
  async isReplaced(file: LogFile | undefined): Promise<boolean> {
    const stats = await lstat(this.#path).catch(undefinedIfMissing);
    return stats !== undefined && (await file?.isSame(stats)) !== true;
  }

  async #rotatedAfter(base: string): Promise<RotatedLog[]> {
    // Anything else of such a name is not of the runtime.
    return rotatedLogs(this.#name, await filesIn(this.folder)).filter((one) => one.base > base);
  }

  async #openOne({ base, compressed, file }: RotatedLog): Promise<LogFile> {
    if (compressed) return openCompressed(join(this.folder, file));
    const plain = await openPlain(join(this.folder, file)).catch(undefinedIfMissing);
    return plain ?? openCompressed(join(this.folder, `${base}.gz`));
  }

  #unreadable(why: unknown): LogUnavailable {
    return new LogUnavailable(`the log ${this.#path} cannot be read: ${toError(why).message}`, { cause: why });
  }
}

export async function closeAll(files: readonly LogFile[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

function undefinedIfMissing(error: unknown): undefined {
  if (!hasErrno(error, 'ENOENT')) throw error;
}
