import { decodeToken, encodeToken } from '@kubus/contracts';
import { KubusError, type Logger, type RecordStore, toError } from '@kubus/ports';
import { mkdirSync } from 'node:fs';
import { open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const SUFFIX = '.json';

/**
 * Records as files: one JSON document per key, replaced by write and rename. Nothing is flushed to the disk: the records
 * are about what runs on this machine, so they have to survive the process, not a loss of power.
 */
export class FileRecordStore implements RecordStore {
  readonly #dir: string;
  readonly #logger: Logger;
  #writes = 0;

  constructor(options: { dir: string; logger: Logger }) {
    this.#dir = options.dir;
    this.#logger = options.logger;
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
  }

  async load(): Promise<Map<string, unknown>> {
    const records = new Map<string, unknown>();
    for (const name of await readdir(this.#dir)) {
      const path = join(this.#dir, name);
      // A write that a crash cut short; the record before it still stands.
      if (!name.endsWith(SUFFIX)) await rm(path, { force: true });
      else {
        try {
          records.set(decodeToken(name.slice(0, -SUFFIX.length)), JSON.parse(await readFile(path, 'utf8')));
        } catch (error) {
          this.#logger.error({ path, err: toError(error) }, 'a state record can not be read and is left out');
        }
      }
    }
    return records;
  }

  async put(key: string, value: unknown): Promise<void> {
    const path = this.#path(key);
    const part = `${path}.${++this.#writes}.part`;
    try {
      const file = await open(part, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify(value));
      } finally {
        await file.close();
      }
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw this.#error(path, error);
    }
  }

  async delete(key: string): Promise<void> {
    try {
      await rm(this.#path(key), { force: true });
    } catch (error) {
      throw this.#error(this.#path(key), error);
    }
  }

  #path(key: string): string {
    return join(this.#dir, `${encodeToken(key)}${SUFFIX}`);
  }

  #error(path: string, cause: unknown): KubusError {
    const message = `the state record ${path} can not be written: ${toError(cause).message}`;
    return new KubusError('state-folder', message, { cause, context: { path } });
  }
}
