import { toError, type Logger } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

/** Go's zero time: it has not happened. */
const NEVER = '0001-01-01T00:00:00Z';
const FILE = 'graceful_node_shutdown_state';

const stateSchema = z.object({ startTime: z.string(), endTime: z.string() });

/** When the last shutdown began and ended, in the reference's file, so that it can be measured after the boot (KEP-2712). */
export class ShutdownTimes {
  readonly #path: string;
  readonly #logger: Logger;
  #state = { startTime: NEVER, endTime: NEVER };

  /** @param folder the root folder of the agent */
  constructor(folder: string, logger: Logger) {
    this.#path = join(folder, FILE);
    this.#logger = logger;
  }

  /** Reads what an earlier process has stored. */
  async load(): Promise<void> {
    try {
      this.#state = stateSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
    } catch (error) {
      const isMissing = (toError(error) as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing) this.#logger.error({ err: toError(error) }, 'Failed to load graceful shutdown state');
    }
  }

  /** @param now RFC 3339, UTC */
  async began(now: string): Promise<void> {
    await this.#store({ startTime: now, endTime: NEVER });
  }

  async ended(now: string): Promise<void> {
    await this.#store({ ...this.#state, endTime: now });
  }

  show(metrics: Metrics): void {
    const gauge = (name: string, what: string, time: () => string) =>
      metrics.add({
        type: 'gauge',
        name: `kubelet_graceful_shutdown_${name}_time_seconds`,
        help: `Last graceful shutdown ${what} time since unix epoch in seconds`,
        collect: () => (time() === NEVER ? 0 : Math.trunc(Date.parse(time()) / 1000)),
      });
    gauge('start', 'start', () => this.#state.startTime);
    gauge('end', 'end', () => this.#state.endTime);
  }

  async #store(state: z.infer<typeof stateSchema>): Promise<void> {
    this.#state = state;
    try {
      await writeFile(`${this.#path}.new`, JSON.stringify(state), { mode: 0o644, flush: true });
      await rename(`${this.#path}.new`, this.#path);
    } catch (error) {
      this.#logger.error({ err: toError(error) }, 'Failed to store graceful shutdown state');
    }
  }
}
