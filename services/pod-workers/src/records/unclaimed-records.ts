import { ownerOf } from '@kubus/admission';
import type { Bus } from '@kubus/bus';
import type { ServiceShare } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type SharedRecords, followShare } from '@kubus/service-kit';
import { type PodRecord, readRecord } from './pod-record.ts';

/** Milliseconds between two checks (the period of container GC, behaviour:garbage-collection). */
const EVERY_MS = 60_000;

export interface UnclaimedRecordsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: SharedRecords;
  /** The instances that are assumed until a fact lists them. */
  readonly share: ServiceShare;
  /** Records that exist at the start. */
  readonly keys: Iterable<string>;
  /** The sync loop has work for the pod. */
  readonly isKnown: (uid: string) => boolean;
  /** This instance owns the pod or is taking it over. */
  readonly isHere: (uid: string) => boolean;
  /** Takes over a pod of which only its record exists. */
  readonly take: (uid: string, found: { readonly record: PodRecord; readonly term: number }) => void;
  /** Releases a pod that was taken over under an earlier share. */
  readonly release: (uid: string) => void;
  /** A check has ended. */
  readonly checked: () => void;
}

/**
 * Finds records of pods that no fact mentions: the last worker of the pod was lost permanently, and its facts with a
 * broker and a sync loop that were lost as well. The instance to which such a pod is assigned takes it over under the
 * newest term, so that its facts about the pod count; whether the pod ends is the sync loop's decision.
 */
export class UnclaimedRecords {
  readonly #options: UnclaimedRecordsOptions;
  #keys: ReadonlySet<string>;
  /** The pods that were taken over, and the terms. */
  readonly #taken = new Map<string, number>();
  #share: ServiceShare | undefined;
  #worksKnown = false;
  #looking: Promise<void> = Promise.resolve();
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: UnclaimedRecordsOptions) {
    this.#options = options;
    this.#keys = new Set(options.keys);
    followShare(options.bus, 'pod-workers', options.share, (share) => {
      this.#share = share;
      this.look();
    });
  }

  /** Whether the pod had a record at the last check. */
  has(uid: string): boolean {
    return this.#keys.has(uid);
  }

  /** The sync loop has published its work for all pods. */
  allWorks(): void {
    this.#worksKnown = true;
    this.look();
  }

  /** Checks as soon as all work and the share are known, and periodically from then on. */
  look(): void {
    this.#looking = this.#looking.then(async () => {
      if (this.#stopped || this.#share === undefined || !this.#worksKnown) return;
      this.#timer?.();
      await this.#look(this.#share);
      this.#options.checked();
      this.#timer = this.#options.clock.after(EVERY_MS, () => this.look());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #look({ instances, term }: ServiceShare): Promise<void> {
    const { bus, records, isKnown, isHere, release, logger } = this.#options;
    for (const [uid, before] of this.#taken) {
      if (before >= term && !isKnown(uid)) continue;
      this.#taken.delete(uid);
      if (!isKnown(uid) && isHere(uid)) release(uid);
    }
    try {
      this.#keys = new Set(await records.keys());
    } catch (error) {
      logger.error({ err: toError(error) }, 'listing the pod records failed');
    }
    for (const uid of this.#keys) {
      const falls = ownerOf(uid, instances) === bus.instance;
      if (falls && !isKnown(uid) && !isHere(uid)) await this.#take(uid, term);
    }
  }

  async #take(uid: string, term: number): Promise<void> {
    const { records, isKnown, isHere, take, logger } = this.#options;
    try {
      const record = readRecord(uid, await records.take(uid, term), logger);
      if (record === undefined || isKnown(uid) || isHere(uid)) return;
      this.#taken.set(uid, term);
      take(uid, { record, term });
    } catch (error) {
      logger.warn({ podUid: uid, err: toError(error) }, 'taking over the record of a pod without work failed');
    }
  }
}
