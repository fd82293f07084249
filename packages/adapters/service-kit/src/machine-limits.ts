import { type Logger, hasErrno, toError } from '@kubus/ports';
import { accessSync, closeSync, constants, openSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Health } from './health.ts';
import { openFileLimit } from './process-metrics.ts';
import { SpareDescriptors } from './spare-descriptors.ts';

/** How often a change is looked for, to log it, in milliseconds; the health is looked at when it is asked for. */
const LOOK_MS = 10_000;
/** With less than this free, a file system takes no file any more. */
const FULL_BYTES = 64 * 1024;

/** Those of this process, which several services may share. */
let spare: SpareDescriptors | undefined;

/**
 * What a service needs of its machine to go on: a state folder that can be written, and file descriptors. What is missing is a check of
 * `/readyz`, not of `/healthz`, since no restart would help, and one line of the log when it changes.
 */
export class MachineLimits {
  readonly #checks: Readonly<Record<string, () => string | undefined>>;
  readonly #logger: Logger;
  readonly #said = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { stateDir: string; health: Health; logger: Logger }) {
    const { stateDir, health, logger } = options;
    spare ??= new SpareDescriptors();
    const descriptors = spare;
    this.#logger = logger;
    this.#checks = {
      disk: () => diskProblem(stateDir),
      'file descriptors': () => (descriptors.look() ? undefined : noDescriptors(openFileLimit())),
    };
    for (const [name, check] of Object.entries(this.#checks)) health.ready(name, check);
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Logs what has changed since the last look. */
  look(): void {
    for (const [name, check] of Object.entries(this.#checks)) {
      const problem = check();
      if (problem === this.#said.get(name)) continue;
      if (problem === undefined) {
        this.#said.delete(name);
        this.#logger.info({ check: name }, 'what was missing of the machine is there again');
      } else {
        this.#said.set(name, problem);
        this.#logger.error({ check: name }, problem);
      }
    }
  }
}

/** Why nothing can be written in a folder, and what to do; undefined when it can be. */
function diskProblem(folder: string): string | undefined {
  const readOnly = readOnlyProblem(folder);
  if (readOnly !== undefined) return readOnly;
  try {
    const { bfree, bsize, ffree, files } = statfsSync(folder);
    if (bfree * bsize < FULL_BYTES) return `the disk of ${folder} is full (ENOSPC): make room on it`;
    return files > 0 && ffree === 0
      ? `the disk of ${folder} has no inodes left (ENOSPC): remove files on it`
      : undefined;
  } catch (error) {
    return `the disk of ${folder} cannot be looked at: ${toError(error).message}`;
  }
}

/**
 * What to do about a folder whose file system is read-only; undefined when it is not. Makes a file: of an ext4 that has met an error, Linux
 * says otherwise in newer versions that it can be written.
 */
export function readOnlyProblem(folder: string): string | undefined {
  const probe = join(folder, `.writable-${process.pid}`);
  try {
    accessSync(folder, constants.W_OK);
    closeSync(openSync(probe, 'w', 0o600));
    rmSync(probe, { force: true });
    return undefined;
  } catch (error) {
    return hasErrno(error, 'EROFS')
      ? `${folder} is on a file system that is read-only (EROFS): see "dmesg" for an error of the disk, repair it, and make the file system writable again`
      : undefined;
  }
}

/** What to do about a process without file descriptors. @param limit how many it may have */
function noDescriptors(limit: number | undefined): string {
  const of = limit === undefined ? '' : ` of ${limit}`;
  return `no file descriptor${of} is left (EMFILE): raise the limit (LimitNOFILE= of the unit, "ulimit -n" before the start) and restart the service`;
}
