import type { Cause, FactOwner } from '@kubus/bus';
import { type PodProbes, podProbesSchema } from '@kubus/contracts';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { RecordTaken, type SharedRecords } from '@kubus/service-kit';
import * as z from 'zod';

/** How long after a failed write of a record it is tried again. */
const RETRY_MS = 1_000;

const recordSchema = z.object({ version: z.literal(1), probes: podProbesSchema });

interface Wanted {
  /** Undefined: there are none any more. */
  readonly probes: PodProbes | undefined;
  /** The pod is over: nobody will speak of it again. */
  readonly over: boolean;
  readonly causes: readonly Cause[];
}

export interface ResultKeeperOptions {
  readonly records: SharedRecords;
  readonly facts: FactOwner<PodProbes>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Says what the probes of each pod say: first into its record, so that a Ready pod stays Ready over the prober's own
 * restart and its move to another instance, then on the bus (DESIGN rule 11). Per pod the latest wins.
 */
export class ResultKeeper {
  readonly #records: SharedRecords;
  readonly #facts: FactOwner<PodProbes>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** The pods that this instance has, and under which terms. */
  readonly #terms = new Map<string, number>();
  /** What was asked for last, as text. */
  readonly #last = new Map<string, string>();
  readonly #wanted = new Map<string, Wanted>();
  readonly #busy = new Set<string>();
  #error: string | undefined;
  #stopped = false;

  constructor(options: ResultKeeperOptions) {
    this.#records = options.records;
    this.#facts = options.facts;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Why records can not be written now. */
  get saveError(): string | undefined {
    return this.#error;
  }

  /** The pods that have results. */
  get pods(): readonly string[] {
    return [...this.#last.keys()];
  }

  /**
   * Takes up the pods that `isOwn` says this instance has, of those that there are records of: publishes what was known,
   * and returns it by pod UID. Not those that it has already, unless another instance has had them in between.
   */
  async takeUp(
    isOwn: (uid: string) => boolean,
    term: number,
    causes: readonly Cause[],
  ): Promise<Map<string, PodProbes>> {
    const taken = new Map<string, PodProbes>();
    for (const uid of (await this.#records.load()).keys()) {
      if (!isOwn(uid) || (await this.#stillHas(uid))) continue;
      const probes = await this.#readRecord(uid, term);
      if (probes === undefined) continue;
      taken.set(uid, probes);
      this.claim(uid, term);
      this.#last.set(uid, JSON.stringify(probes));
      this.#facts.put(uid, probes, { pod: uid, causes });
    }
    return taken;
  }

  /** This instance has told of every pod that it knows. */
  complete(): void {
    this.#facts.complete();
  }

  /** This instance has the pod. Under a greater term than before, another one may have had it in between. */
  claim(uid: string, term: number): void {
    if ((this.#terms.get(uid) ?? -1) >= term) return;
    this.#terms.set(uid, term);
    this.#facts.claim(uid, term);
  }

  /** Another instance has the pod: what is known of it is left to that one. */
  release(uid: string): void {
    this.#terms.delete(uid);
    this.#last.delete(uid);
    this.#wanted.delete(uid);
    this.#facts.release(uid);
  }

  /** Keeps and publishes the results of a pod that this instance has, if they changed. */
  put(probes: PodProbes, causes: readonly Cause[]): void {
    const { uid } = probes.ref;
    const text = JSON.stringify(probes);
    if (!this.#terms.has(uid) || this.#last.get(uid) === text) return;
    this.#last.set(uid, text);
    this.#want(uid, { probes, over: false, causes });
  }

  /** Removes the results of a pod; harmless when there are none. */
  remove(uid: string, causes: readonly Cause[]): void {
    if (this.#last.delete(uid)) this.#want(uid, { probes: undefined, over: false, causes });
  }

  /** As {@link remove}, for a pod that is over. */
  forget(uid: string, causes: readonly Cause[]): void {
    this.#last.delete(uid);
    if (this.#terms.has(uid)) this.#want(uid, { probes: undefined, over: true, causes });
  }

  /** Nothing is tried again after this. */
  stop(): void {
    this.#stopped = true;
  }

  /** Lets go of a pod that another instance has had since: this one may not have heard of it, just started or halted. */
  async #stillHas(uid: string): Promise<boolean> {
    const term = this.#terms.get(uid);
    if (term === undefined) return false;
    try {
      await this.#records.take(uid, term);
    } catch (error) {
      // What can not be written now is told of with the next result.
      if (!(error instanceof RecordTaken)) return true;
      this.release(uid);
      return false;
    }
    return true;
  }

  async #readRecord(uid: string, term: number): Promise<PodProbes | undefined> {
    let record: unknown;
    try {
      record = await this.#records.take(uid, term);
    } catch (error) {
      this.#logger.warn({ podUid: uid, err: toError(error) }, 'a record of probe results could not be taken over');
      return undefined;
    }
    const parsed = recordSchema.safeParse(record);
    if (parsed.success) return parsed.data.probes;
    if (record !== undefined) {
      this.#logger.error({ podUid: uid, err: parsed.error }, 'a record of probe results can not be read');
      await this.#records.delete(uid, term);
    }
    return undefined;
  }

  #want(uid: string, wanted: Wanted): void {
    this.#wanted.set(uid, wanted);
    if (!this.#busy.has(uid)) void this.#work(uid);
  }

  async #work(uid: string): Promise<void> {
    this.#busy.add(uid);
    for (let wanted = this.#take(uid); wanted !== undefined; wanted = this.#take(uid)) {
      try {
        await this.#say(uid, wanted);
        this.#error = undefined;
      } catch (error) {
        if (error instanceof RecordTaken) {
          this.release(uid);
          break;
        }
        if (!this.#wanted.has(uid)) this.#wanted.set(uid, wanted);
        this.#error = toError(error).message;
        this.#logger.error({ podUid: uid, err: toError(error) }, 'probe results can not be kept, trying again');
        this.#clock.after(RETRY_MS, () => {
          if (!this.#stopped) void this.#work(uid);
        });
        return;
      }
    }
    this.#busy.delete(uid);
  }

  #take(uid: string): Wanted | undefined {
    const wanted = this.#wanted.get(uid);
    this.#wanted.delete(uid);
    return wanted;
  }

  async #say(uid: string, { probes, over, causes }: Wanted): Promise<void> {
    const term = this.#terms.get(uid);
    if (term === undefined) return;
    if (probes === undefined) {
      await this.#records.delete(uid, term);
      this.#facts.remove(uid, { pod: uid, causes });
      if (over && !this.#wanted.has(uid)) this.release(uid);
    } else {
      await this.#records.put(uid, term, { version: 1, probes });
      // It may have become another instance's meanwhile.
      if (this.#terms.has(uid)) this.#facts.put(uid, probes, { pod: uid, causes });
    }
  }
}
