import { LogUnavailable, type RotatedLog, rotatedLogs } from '@kubus/container-log';
import { hasErrno, toError } from '@kubus/ports';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type LogFile, openCompressed, openPlain } from './log-file.ts';

/** A log's files as they were at one moment, open. */
export interface OpenLog {
  /**
   * The oldest first. The last one is written, or was: for the moment between its rename and the runtime's next file it has
   * the name of a rotated one.
   */
  readonly files: readonly LogFile[];
  /** The name of the newest rotated file; empty when there is none. */
  readonly newest: string;
}

/** How often files are opened anew that got another name meanwhile. Rotations are seconds apart. */
const TRIES = 10;

/** The files of one run's log: the one that is written, and those that were rotated. */
export class LogFiles {
  readonly folder: string;
  readonly #path: string;
  readonly #name: string;

  /** @param path of the file that is written */
  constructor(path: string) {
    this.#path = path;
    this.folder = dirname(path);
    this.#name = basename(path);
  }

  /** Opens all of them. Throws {@link LogUnavailable} when there is none. */
  async open(): Promise<OpenLog> {
    const log = await this.openAfter('');
    if (log.files.length > 0) return log;
    throw new LogUnavailable(`the log ${this.#path} can not be read: there is no such file`);
  }

  /** Opens those that were made after the one that was rotated to `base`. Throws {@link LogUnavailable}. */
  async openAfter(base: string): Promise<OpenLog> {
    for (let tried = 1; ; tried++) {
      const opened: LogFile[] = [];
      try {
        const before = await this.#rotatedAfter(base);
        for (const one of before) opened.push(await this.#openOne(one));
        const current = await openPlain(this.#path).catch(undefinedIfMissing);
        if (current !== undefined) opened.push(current);
        const newest = before.at(-1)?.base ?? base;
        // Otherwise what was opened last may have been rotated before it was opened, or one may be missing between.
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

  /** Whether there is a file that is written, and it is another one than this. */
  async isReplaced(file: LogFile | undefined): Promise<boolean> {
    const stats = await stat(this.#path).catch(undefinedIfMissing);
    return stats !== undefined && (await file?.isSame(stats)) !== true;
  }

  async #rotatedAfter(base: string): Promise<RotatedLog[]> {
    const files = await readdir(this.folder).catch(undefinedIfMissing);
    return rotatedLogs(this.#name, files ?? []).filter((one) => one.base > base);
  }

  async #openOne({ base, compressed, file }: RotatedLog): Promise<LogFile> {
    if (compressed) return openCompressed(join(this.folder, file));
    const plain = await openPlain(join(this.folder, file)).catch(undefinedIfMissing);
    return plain ?? openCompressed(join(this.folder, `${base}.gz`));
  }

  #unreadable(why: unknown): LogUnavailable {
    return new LogUnavailable(`the log ${this.#path} can not be read: ${toError(why).message}`, { cause: why });
  }
}

export async function closeAll(files: readonly LogFile[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

function undefinedIfMissing(error: unknown): undefined {
  if (!hasErrno(error, 'ENOENT')) throw error;
}
