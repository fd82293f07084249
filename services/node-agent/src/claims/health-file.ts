import { type NodeHealth, healthCheckpoint, parseHealthCheckpoint } from '@kubus/dra';
import { readRegular, replaceRegular } from '@kubus/filesystem';
import { type Logger, toError } from '@kubus/ports';
import { join } from 'node:path';

/** More than the health of any node's devices takes. In bytes. */
const LARGEST = 16 * 1024 * 1024;

/** The reference kubelet's file of the health of claims' devices, `dra_health_state`. Pods start without it. */
export class HealthFile {
  readonly #path: string;
  readonly #logger: Logger;
  #written: Promise<void> = Promise.resolve();
  /** A write that has not begun. */
  #waiting: Promise<void> | undefined;

  /** @param root the kubelet's root folder, which exists */
  constructor(root: string, logger: Logger) {
    this.#path = join(root, 'dra_health_state');
    this.#logger = logger;
  }

  /** What of the file still counts at a time, in milliseconds; nothing of one that is damaged. */
  async read(now: number): Promise<NodeHealth> {
    try {
      const text = (await readRegular(this.#path, { limit: LARGEST }))?.toString();
      const known = text === undefined ? new Map() : parseHealthCheckpoint(text, now);
      if (!('problem' in known)) return known;
      this.#logger.warn({ path: this.#path }, `the health of devices is unknown: ${known.problem}`);
    } catch (error) {
      this.#logger.warn({ path: this.#path, err: toError(error) }, 'the health of devices cannot be read');
    }
    return new Map();
  }

  /** Replaces the file by what is known when the write before has ended. */
  write(known: () => NodeHealth): Promise<void> {
    this.#waiting ??= this.#written.then(async () => {
      this.#waiting = undefined;
      await this.#replace(known());
    });
    this.#written = this.#waiting;
    return this.#written;
  }

  async #replace(known: NodeHealth): Promise<void> {
    try {
      await replaceRegular(this.#path, healthCheckpoint(known), 0o600);
    } catch (error) {
      this.#logger.warn({ path: this.#path, err: toError(error) }, 'the health of devices cannot be written');
    }
  }
}
