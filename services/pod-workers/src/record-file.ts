import type { PodRef } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { RecordTaken, type SharedRecords } from '@kubus/service-kit';
import { RETRY_MS } from './pass.ts';
import type { PodRecord } from './pod-record.ts';
import type { Tenure } from './tenure.ts';

/** How long a changed status may wait until it is in the record, in milliseconds. */
const STATUS_MS = 2_000;

/** One pod's record on disk: written in order, and not any more once it has been removed. */
export class RecordFile {
  readonly #ref: PodRef;
  readonly #records: SharedRecords;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #tenure: Tenure;
  readonly #content: () => PodRecord;
  #saving: Promise<void> = Promise.resolve();
  #timer: Cancel | undefined;
  #forgotten = false;
  #stopped = false;
  #error: string | undefined;

  /** @param options.content the record as it is now */
  constructor(options: {
    ref: PodRef;
    records: SharedRecords;
    clock: Clock;
    logger: Logger;
    tenure: Tenure;
    content: () => PodRecord;
  }) {
    this.#ref = options.ref;
    this.#records = options.records;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#tenure = options.tenure;
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
        await this.#records.put(this.#ref.uid, this.#tenure.term, this.#content());
        this.#error = undefined;
      } catch (error) {
        if (error instanceof RecordTaken) {
          this.#forgotten = true;
          this.#tenure.onTaken();
          return;
        }
        this.#error = toError(error).message;
        this.#logger.error({ err: toError(error) }, 'the pod’s record could not be written');
        if (!this.#stopped) this.#saveWithin(RETRY_MS);
      }
    });
    return this.#saving;
  }

  /** Writes the record when a changed status has waited long enough for more changes. */
  saveSoon(): void {
    this.#saveWithin(STATUS_MS);
  }

  #saveWithin(ms: number): void {
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
    await this.#records.delete(this.#ref.uid, this.#tenure.term);
  }

  revive(): void {
    this.#forgotten = false;
  }

  /** Writes what is not written yet, and nothing after it. */
  async close(): Promise<void> {
    const late = this.#timer !== undefined;
    this.stop();
    if (late) await this.save();
    await this.#saving;
    this.#forgotten = true;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }
}
