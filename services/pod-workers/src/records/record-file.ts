import type { PodRef } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { OwnershipLost, type SharedRecords } from '@kubus/service-kit';
import { RETRY_MS } from '../sync/errors.ts';
import type { PodRecord } from './pod-record.ts';
import type { Ownership } from '../worker/ownership.ts';

/** Milliseconds that a changed status may wait until it is recorded. */
const STATUS_MS = 2_000;

/** One pod's record on disk: written in order, and never after its removal. */
export class RecordFile {
  readonly #ref: PodRef;
  readonly #records: SharedRecords;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ownership: Ownership;
  readonly #content: () => PodRecord;
  #saving: Promise<void> = Promise.resolve();
  /** A write that has not begun: it contains what changes until then. */
  #next: Promise<void> | undefined;
  #timer: Cancel | undefined;
  #forgotten = false;
  #stopped = false;
  #error: string | undefined;

  /** @param options.content the current content of the record */
  constructor(options: {
    ref: PodRef;
    records: SharedRecords;
    clock: Clock;
    logger: Logger;
    ownership: Ownership;
    content: () => PodRecord;
  }) {
    this.#ref = options.ref;
    this.#records = options.records;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#ownership = options.ownership;
    this.#content = options.content;
  }

  /** The error of the last write, if it failed. */
  get error(): string | undefined {
    return this.#error;
  }

  /**
   * Writes the record. A folder that cannot be written must not prevent a pod from being started or stopped: the error is logged
   * and shown by the service's health.
   */
  save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    this.#saving = this.#saving.then(async () => {
      this.#next = undefined;
      if (this.#forgotten) return;
      try {
        await this.#records.put(this.#ref.uid, this.#ownership.term, this.#content());
        this.#error = undefined;
      } catch (error) {
        if (error instanceof OwnershipLost) {
          this.#forgotten = true;
          this.#ownership.onTaken();
          return;
        }
        this.#error = toError(error).message;
        this.#logger.error({ err: toError(error) }, 'writing the pod record failed');
        if (!this.#stopped) this.#saveWithin(RETRY_MS);
      }
    });
    this.#next = this.#saving;
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

  /** Resolves when all writes so far have ended. */
  saved(): Promise<void> {
    return this.#saving;
  }

  /** Removes the record; nothing writes it again until {@link revive}. */
  async forget(): Promise<void> {
    this.#forgotten = true;
    await this.#saving;
    await this.#records.delete(this.#ref.uid, this.#ownership.term);
  }

  /** The pod is desired again: its record is written again. */
  revive(): void {
    this.#forgotten = false;
  }

  /** Writes pending changes, and nothing afterwards. */
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
