import { type Logger, ignoring, toError } from '@kubus/ports';
import { constants } from 'node:fs';
import { copyFile, open, readdir, rename, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';

/** A log above this size is rotated; with the log before it, a process keeps at most twice this. Bytes. */
const LOG_BYTES = 10 * 1024 * 1024;
/** How often sizes are compared, in milliseconds. */
const LOOK_MS = 10_000;

export interface LogRotationOptions {
  /** Folders whose `*.log` files the node's processes append to. */
  readonly folders: readonly string[];
  readonly logger: Logger;
  /** Bytes. Default: 10 MiB. */
  readonly limit?: number;
}

/**
 * Bounds the logs of the node's processes: a log that has grown too long becomes `<name>.log.1`, in place of the one before.
 * Processes append to a file that they keep open, so it is copied and emptied; what is written in between is copied, too.
 */
export class ProcessLogRotation {
  readonly #options: LogRotationOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LogRotationOptions) {
    this.#options = options;
  }

  /** Looks from now on, every 10 seconds after the last look has ended. */
  start(): void {
    this.#timer = setTimeout(() => {
      void this.look().finally(() => {
        if (this.#timer !== undefined) this.start();
      });
    }, LOOK_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Rotates what is too long now. What fails is logged, and tried again by the next look. */
  async look(): Promise<void> {
    const { folders, logger, limit = LOG_BYTES } = this.#options;
    for (const folder of folders) {
      try {
        const names = (await ignoring('ENOENT', readdir(folder))) ?? [];
        for (const name of names.filter((one) => one.endsWith('.log'))) await this.#lookAt(join(folder, name), limit);
      } catch (error) {
        logger.warn({ folder, err: toError(error) }, 'cannot look for logs to rotate; trying again');
      }
    }
  }

  async #lookAt(file: string, limit: number): Promise<void> {
    try {
      if ((await stat(file)).size > limit) await rotate(file);
    } catch (error) {
      this.#options.logger.warn({ file, err: toError(error) }, 'cannot rotate a log; trying again');
    }
  }
}

async function rotate(file: string): Promise<void> {
  const next = `${file}.next`;
  await copyFile(file, next, constants.COPYFILE_FICLONE);
  await appendRest(file, next);
  await truncate(file);
  await rename(next, `${file}.1`);
}

/** Copies what has been written since the copy was made. */
async function appendRest(from: string, to: string): Promise<void> {
  await using source = await open(from);
  await using target = await open(to, 'a');
  let { size } = await target.stat();
  const buffer = Buffer.alloc(64 * 1024);
  for (;;) {
    const { bytesRead } = await source.read({ buffer, position: size });
    if (bytesRead === 0) return;
    await target.write(buffer, 0, bytesRead);
    size += bytesRead;
  }
}
