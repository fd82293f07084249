import { type OomUnderWay, kernelRecord, stepOom, systemOomMessage } from '@kubus/eviction';
import { KernelLog } from '@kubus/node-usage';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { NodeEvents } from '@kubus/service-kit';

/** How often the kernel's log is read, in milliseconds. */
const EVERY_MS = 5_000;

export interface OomWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: NodeEvents;
  /** When the watch began, in milliseconds since the boot: what the kernel has logged before is old. */
  readonly sinceMs: number;
  readonly open?: () => Promise<Pick<KernelLog, 'read' | 'close'>>;
}

/** Records an event of the node when the kernel kills a process because the machine is short of memory (behaviour:eviction, OOM watcher). */
export class OomWatch {
  readonly #options: OomWatchOptions;
  readonly #stopping = new AbortController();
  #underWay: OomUnderWay;

  constructor(options: OomWatchOptions) {
    this.#options = options;
    void this.#run();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Ends where the log cannot be read: the node works without it. */
  async #run(): Promise<void> {
    const { clock, logger, open = () => KernelLog.open() } = this.#options;
    const { signal } = this.#stopping;
    try {
      const log = await open();
      try {
        while (!signal.aborted) {
          for (const record of await log.read()) this.#take(record);
          await sleep(clock, EVERY_MS, signal);
        }
      } finally {
        await log.close();
      }
    } catch (error) {
      logger.warn({ err: toError(error) }, 'the kernel’s log cannot be read: there are no events SystemOOM');
    }
  }

  #take(text: string): void {
    const record = kernelRecord(text);
    if (record === undefined || record.atMs < this.#options.sinceMs) return;
    const { kill, underWay } = stepOom(this.#underWay, record.text);
    this.#underWay = underWay;
    const message = kill && systemOomMessage(kill);
    if (message !== undefined) this.#options.events.record({ type: 'Warning', reason: 'SystemOOM', message }, []);
  }
}
