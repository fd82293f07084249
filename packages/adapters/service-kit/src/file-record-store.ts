import { decodeToken, encodeToken } from '@kubus/contracts';
import { KubusError, type Logger, type RecordStore, hasErrno, toError } from '@kubus/ports';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Reserve, withReserve } from './reserve.ts';

const SUFFIX = '.json';
/** Maximum number of attempts to write a temporary file that is removed each time. */
const MOST_WRITES = 5;

/**
 * Records as files: one JSON document per key, replaced by write and rename. The disk is not flushed: the records
 * describe what runs on this machine, so they have to survive the process, but not a power failure.
 *
 * On a full disk a record that cannot be written stays as it was.
 *
 * A put is synchronous: a small file takes 0.3 ms, and the same calls made asynchronously cost more than
 * half as much CPU again.
 */
export class FileRecordStore implements RecordStore {
  readonly #dir: string;
  readonly #logger: Logger;
  readonly #reserve: Reserve | undefined;

  /** @param options.reserve makes room when the disk is full */
  constructor(options: { dir: string; logger: Logger; reserve?: Reserve }) {
    this.#dir = options.dir;
    this.#logger = options.logger;
    this.#reserve = options.reserve;
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
  }

  async load(): Promise<Map<string, unknown>> {
    const records = new Map<string, unknown>();
    for (const name of await readdir(this.#dir)) {
      const path = join(this.#dir, name);
      // A write that a crash interrupted; the earlier record is still valid.
      if (!name.endsWith(SUFFIX)) await rm(path, { force: true });
      else {
        try {
          records.set(keyOf(name), JSON.parse(await readFile(path, 'utf8')));
        } catch (error) {
          this.#leaveOut(path, error);
        }
      }
    }
    return records;
  }

  async keys(): Promise<string[]> {
    const names = await readdir(this.#dir);
    return names.filter((name) => name.endsWith(SUFFIX)).map(keyOf);
  }

  /** Also synchronous, so that no other code of this process runs between it and a following put. */
  read(key: string): Promise<unknown> {
    const path = this.#path(key);
    try {
      return Promise.resolve(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) this.#leaveOut(path, error);
      return Promise.resolve(undefined);
    }
  }

  put(key: string, value: unknown): Promise<void> {
    const path = this.#path(key);
    const part = `${path}.part`;
    const text = JSON.stringify(value);
    for (let writes = 1; ; writes++) {
      try {
        withReserve(this.#reserve, () => {
          writeFileSync(part, text, { mode: 0o600 });
          renameSync(part, path);
        });
        return Promise.resolve();
      } catch (error) {
        // Another instance that is starting has taken the temporary file for one that a crash had left.
        if (hasErrno(error, 'ENOENT') && writes < MOST_WRITES) continue;
        rmSync(part, { force: true });
        return Promise.reject(this.#error(path, error));
      }
    }
  }

  async delete(key: string): Promise<void> {
    try {
      await rm(this.#path(key), { force: true });
    } catch (error) {
      throw this.#error(this.#path(key), error);
    }
  }

  #leaveOut(path: string, error: unknown): void {
    this.#logger.error({ path, err: toError(error) }, 'a state record cannot be read and is skipped');
  }

  #path(key: string): string {
    return join(this.#dir, `${encodeToken(key)}${SUFFIX}`);
  }

  #error(path: string, cause: unknown): KubusError {
    const message = `the state record ${path} cannot be written: ${toError(cause).message}`;
    return new KubusError('state-folder', message, { cause, context: { path } });
  }
}

function keyOf(name: string): string {
  return decodeToken(name.slice(0, -SUFFIX.length));
}
