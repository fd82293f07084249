import type { Bus } from '@kubus/bus';
import type { ServiceShare } from '@kubus/contracts';
import { ownerOf } from '@kubus/pod-manager';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type SharedRecords, followShare } from '@kubus/service-kit';
import { type PodRecord, readRecord } from './pod-record.ts';

/** Between two looks, in milliseconds (the period of container GC, kubelet behaviour 1.9). */
const EVERY_MS = 60_000;

export interface UnclaimedRecordsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: SharedRecords;
  /** Which instances there are when nobody has spoken of them. */
  readonly share: ServiceShare;
  /** Records that are there at the start. */
  readonly keys: Iterable<string>;
  /** The sync loop speaks of the pod. */
  readonly isKnown: (uid: string) => boolean;
  /** This instance has the pod or is taking it up. */
  readonly isHere: (uid: string) => boolean;
  /** Takes up a pod of which only its record is left. */
  readonly take: (uid: string, found: { readonly record: PodRecord; readonly term: number }) => void;
  /** Lets go of a pod that was taken up under an earlier share. */
  readonly letGo: (uid: string) => void;
  /** A look has ended. */
  readonly looked: () => void;
}

/**
 * Finds records of pods of which nobody speaks: the last worker of the pod was lost for good, and what was said of it with a
 * broker and a sync loop that were lost as well. The instance to which such a pod falls takes it up, under the newest term,
 * so that it is heard when it tells of the pod; who ends the pod is the sync loop's to say.
 */
export class UnclaimedRecords {
  readonly #options: UnclaimedRecordsOptions;
  #keys: ReadonlySet<string>;
  /** The pods that were taken up, and the terms. */
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

  /** Whether the pod had a record when last looked. */
  has(uid: string): boolean {
    return this.#keys.has(uid);
  }

  /** The sync loop has told of every pod that it knows. */
  allWorks(): void {
    this.#worksKnown = true;
    this.look();
  }

  /** Looks as soon as the works and the share are known, and from then on again and again. */
  look(): void {
    this.#looking = this.#looking.then(async () => {
      if (this.#stopped || this.#share === undefined || !this.#worksKnown) return;
      this.#timer?.();
      await this.#look(this.#share);
      this.#options.looked();
      this.#timer = this.#options.clock.after(EVERY_MS, () => this.look());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  async #look({ instances, term }: ServiceShare): Promise<void> {
    const { bus, records, isKnown, isHere, letGo, logger } = this.#options;
    for (const [uid, before] of this.#taken) {
      if (before >= term && !isKnown(uid)) continue;
      this.#taken.delete(uid);
      if (!isKnown(uid) && isHere(uid)) letGo(uid);
    }
    try {
      this.#keys = new Set(await records.keys());
    } catch (error) {
      logger.error({ err: toError(error) }, 'the records of the pods could not be looked at');
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
      logger.warn({ podUid: uid, err: toError(error) }, 'the record of a pod without work could not be taken over');
    }
  }
}
