import { type Logger, hasErrno, toError } from '@kubus/ports';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Room for the records that change while a disk is full: some dozen pods' records, each beside the one that it replaces. */
const RESERVE_BYTES = 256 * 1024;
/** The disk has room again when this much more than the reserve is free. */
const FREE_BYTES = 4 * RESERVE_BYTES;
/** Milliseconds between two looks for room. */
const LOOK_MS = 10_000;

/**
 * Space on a disk that is given back when the disk is full, so that what must be written then can be: a file that is removed, and made
 * again when there is room. Several processes may share one.
 */
export class Reserve {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #now: () => number;
  #lookAt = 0;

  /** @param path of the file, on the disk of the records that it is for */
  constructor(path: string, logger: Logger, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#logger = logger;
    this.#now = now;
    this.#fill();
  }

  /** Does `write`, a second time if the disk was full and the reserve makes room. Throws the error of the last one. */
  use(write: () => void): void {
    try {
      write();
      if (this.#now() >= this.#lookAt) this.#fill();
    } catch (error) {
      if (!hasErrno(error, 'ENOSPC', 'EDQUOT') || !existsSync(this.#path)) throw error;
      rmSync(this.#path, { force: true });
      this.#lookAt = this.#now() + LOOK_MS;
      this.#logger.error(
        { path: this.#path, err: toError(error) },
        'the disk is full: the space reserved for state records is used now',
      );
      write();
    }
  }

  /** Makes the file where there is room for it. Never throws: the disk may be full from the beginning, or may not be writable. */
  #fill(): void {
    this.#lookAt = this.#now() + LOOK_MS;
    if (existsSync(this.#path)) return;
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path));
      if (bavail * bsize < FREE_BYTES) return;
      // Random: a file system that compresses would keep nothing free otherwise.
      writeFileSync(this.#path, randomBytes(RESERVE_BYTES), { mode: 0o600 });
    } catch (error) {
      rmSync(this.#path, { force: true });
      this.#logger.warn({ path: this.#path, err: toError(error) }, 'no space can be reserved for state records');
    }
  }
}

/** Does `write`, with the reserve where there is one. */
export function withReserve(reserve: Reserve | undefined, write: () => void): void {
  if (reserve === undefined) write();
  else reserve.use(write);
}
