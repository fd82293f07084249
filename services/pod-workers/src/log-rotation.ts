import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';
import { stat } from 'node:fs/promises';
import { rotateLog } from './rotated-files.ts';

/** The log that a container writes now. */
export interface RunningLog {
  readonly podUid: string;
  readonly containerId: string;
  /** Absolute. */
  readonly path: string;
}

export interface LogRotationSettings {
  /** Bytes from which on a log is rotated. */
  readonly maxSize: number;
  /** How many files a container's log may have. */
  readonly maxFiles: number;
  /** Milliseconds between two looks. */
  readonly monitorEveryMs: number;
  /** Logs looked at, and files compressed, at once. */
  readonly workers: number;
}

/**
 * Rotates the logs of this instance's running containers when they have become too large (kubelet behaviour 1.7,
 * rotation). What a container has left that does not run any more stays as it is.
 */
export class LogRotation {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #logs: () => readonly RunningLog[];
  readonly #reopen: (log: RunningLog) => Promise<unknown>;
  readonly #settings: LogRotationSettings;
  /** By container id: what was wrong the last time, told once. */
  readonly #errors = new Map<string, string>();
  #timer: Cancel | undefined;
  #stopped = false;

  /**
   * @param options.logs the logs of all containers that run now
   * @param options.reopen has the runtime close a container's log, and write to a file of the log's name from now on
   */
  constructor(options: {
    clock: Clock;
    logger: Logger;
    logs: () => readonly RunningLog[];
    reopen: (log: RunningLog) => Promise<unknown>;
    settings: LogRotationSettings;
  }) {
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#logs = options.logs;
    this.#reopen = options.reopen;
    this.#settings = options.settings;
    this.#next();
  }

  /** Containers whose logs can not be rotated. */
  get failing(): number {
    return this.#errors.size;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  #next(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(this.#settings.monitorEveryMs, () => {
      void this.#lookAtAll().then(() => this.#next());
    });
  }

  async #lookAtAll(): Promise<void> {
    const waiting = [...this.#logs()];
    const ids = new Set(waiting.map(({ containerId }) => containerId));
    for (const id of this.#errors.keys()) if (!ids.has(id)) this.#errors.delete(id);
    const work = async () => {
      for (let log = waiting.shift(); log !== undefined && !this.#stopped; log = waiting.shift()) await this.#look(log);
    };
    await Promise.all(Array.from({ length: this.#settings.workers }, work));
  }

  async #look(log: RunningLog): Promise<void> {
    const { podUid, containerId, path } = log;
    try {
      const { maxFiles, maxSize } = this.#settings;
      const reopen = () => this.#reopen(log);
      const size = await sizeOf(path);
      // It was renamed, and the runtime not told; or somebody has removed it.
      if (size === undefined) await reopen();
      else if (size >= maxSize) {
        await rotateLog(path, { maxFiles, now: this.#clock.now(), reopen });
        this.#logger.info({ podUid, containerId, path, size }, 'log rotated');
      }
      this.#errors.delete(containerId);
    } catch (error) {
      const { message } = toError(error);
      if (this.#errors.get(containerId) !== message) {
        this.#logger.warn({ podUid, containerId, path, err: toError(error) }, 'the log could not be rotated');
      }
      this.#errors.set(containerId, message);
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
