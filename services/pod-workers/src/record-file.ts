import type { PodRef } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import { RETRY_MS } from './pass.ts';
import type { PodRecord } from './pod-record.ts';

/** One pod's record on disk: written in order, and not any more once it has been removed. */
export class RecordFile {
  readonly #ref: PodRef;
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #content: () => PodRecord;
  #saving: Promise<void> = Promise.resolve();
  #timer: Cancel | undefined;
  #forgotten = false;
  #stopped = false;
  #error: string | undefined;

  /** @param content the record as it is now. */
  constructor(options: { ref: PodRef; records: RecordStore; clock: Clock; logger: Logger; content: () => PodRecord }) {
    this.#ref = options.ref;
    this.#records = options.records;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#content = options.content;
  }

  /** Why it could not be written the last time. */
  get error(): string | undefined {
    return this.#error;
  }

  /**
   * Writes the record. A folder that can not be written must not keep a pod from being started or ended: what would be
   * lost is told, and the service's health shows it.
   */
  save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (this.#forgotten) return;
      try {
        await this.#records.put(this.#ref.uid, this.#content());
        this.#error = undefined;
      } catch (error) {
        this.#error = toError(error).message;
        this.#logger.error({ err: toError(error) }, 'the pod’s record could not be written');
        if (!this.#stopped) this.saveWithin(RETRY_MS);
      }
    });
    return this.#saving;
  }

  /** Writes the record at the latest `ms` milliseconds from now. */
  saveWithin(ms: number): void {
    this.#timer ??= this.#clock.after(ms, () => {
      this.#timer = undefined;
      void this.save();
    });
  }

  /** Resolves when everything that was to be written has been. */
  saved(): Promise<void> {
    return this.#saving;
  }

  /** Removes the record; nothing writes it again until {@link revive}. */
  async forget(): Promise<void> {
    this.#forgotten = true;
    await this.#saving;
    await this.#records.delete(this.#ref.uid);
  }

  revive(): void {
    this.#forgotten = false;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }
}
