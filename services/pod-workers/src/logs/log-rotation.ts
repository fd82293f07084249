import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';
import { lstat } from 'node:fs/promises';
import { rotateLog } from './rotated-files.ts';

/** The log to which a container is writing. */
export interface RunningLog {
  readonly podUid: string;
  readonly containerId: string;
  /** Absolute path. */
  readonly path: string;
}

export interface LogRotationSettings {
  /** Bytes at which a log is rotated. */
  readonly maxSize: number;
  /** How many files a container's log may have. */
  readonly maxFiles: number;
  /** Milliseconds between two checks. */
  readonly monitorEveryMs: number;
  /** How many logs are checked, and files compressed, at once. */
  readonly workers: number;
}

/**
 * Rotates the logs of this instance's running containers when they exceed the size limit (behaviour:labels-paths-logs,
 * rotation). The logs of an ended container are left unchanged.
 */
export class LogRotation {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #logs: () => readonly RunningLog[];
  readonly #reopen: (log: RunningLog) => Promise<unknown>;
  readonly #settings: LogRotationSettings;
  /** Keyed by container ID: the last error, which is logged once. */
  readonly #errors = new Map<string, string>();
  #timer: Cancel | undefined;
  #stopped = false;

  /**
   * @param options.logs the logs of all running containers
   * @param options.reopen makes the runtime close a container's log, and continue in a new file of the same name
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

  /** The containers whose logs cannot be rotated. */
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
      // It was renamed and the runtime has not reopened it, or another program removed it.
      if (size === undefined) await reopen();
      else if (size >= maxSize) {
        await rotateLog(path, { maxFiles, now: this.#clock.now(), reopen });
        this.#logger.info({ podUid, containerId, path, size }, 'log rotated');
      }
      this.#errors.delete(containerId);
    } catch (error) {
      const { message } = toError(error);
      if (this.#errors.get(containerId) !== message) {
        this.#logger.warn({ podUid, containerId, path, err: toError(error) }, 'log rotation failed');
      }
      this.#errors.set(containerId, message);
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).size;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
