import type { Cause, FactOwner } from '@kubus/bus';
import { type PodProbes, podProbesSchema } from '@kubus/contracts';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { RecordTaken, type SharedRecords } from '@kubus/service-kit';
import * as z from 'zod';

/** How long after a failed write of a record it is tried again. */
const RETRY_MS = 1_000;

/** What is kept of a pod's probes, over restarts and between instances. */
export const probeRecordSchema = z.object({
  version: z.literal(1),
  probes: podProbesSchema,
  /** The instance that found this, and the epoch of the life in which it did. */
  by: z.string().optional(),
  epoch: z.number().optional(),
});
type ProbeRecord = z.infer<typeof probeRecordSchema>;

/** What an earlier life of this instance said last on the bus. */
interface SaidBefore {
  readonly probes: PodProbes;
  readonly epoch: number;
}

interface Wanted {
  /** Undefined: there are none any more. */
  readonly probes: PodProbes | undefined;
  /** The pod is over: nobody will speak of it again. */
  readonly over: boolean;
  readonly causes: readonly Cause[];
}

export interface ResultKeeperOptions {
  readonly records: SharedRecords;
  /** The instance, and the epoch of this life. */
  readonly life: { readonly by: string; readonly epoch: number };
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
  readonly #life: ResultKeeperOptions['life'];
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
    this.#life = options.life;
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
   * Takes up the pods that `isOwn` says this instance has, of those that there are records of or that an earlier life has
   * spoken of: publishes what was known, and returns it by pod UID. Not those that it has already, unless another instance has
   * had them in between.
   *
   * @param options.said what earlier lives of this instance said last, by pod UID. A life of another program in this one's
   *   place knows nothing of the records.
   */
  async takeUp(
    isOwn: (uid: string) => boolean,
    options: { term: number; causes: readonly Cause[]; said: ReadonlyMap<string, SaidBefore> },
  ): Promise<Map<string, PodProbes>> {
    const { term, causes, said } = options;
    const taken = new Map<string, PodProbes>();
    for (const uid of new Set([...(await this.#records.load()).keys(), ...said.keys()])) {
      if (!isOwn(uid) || (await this.#stillHas(uid))) continue;
      const probes = await this.#known(uid, term, said.get(uid));
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

  /** What is known of a pod: what its record says, or what was said after that was written. */
  async #known(uid: string, term: number, said: SaidBefore | undefined): Promise<PodProbes | undefined> {
    try {
      const record = await this.#readRecord(uid, term);
      if (said === undefined || !this.#isOlder(record, said)) return record?.probes;
      await this.#records.put(uid, term, this.#recordOf(said.probes));
      return said.probes;
    } catch (error) {
      this.#logger.warn({ podUid: uid, err: toError(error) }, 'a record of probe results could not be taken over');
      return undefined;
    }
  }

  #isOlder(record: ProbeRecord | undefined, said: SaidBefore): boolean {
    return record === undefined || (record.by === this.#life.by && (record.epoch ?? said.epoch) < said.epoch);
  }

  #recordOf(probes: PodProbes): ProbeRecord {
    return { version: 1, probes, ...this.#life };
  }

  async #readRecord(uid: string, term: number): Promise<ProbeRecord | undefined> {
    const record = await this.#records.take(uid, term);
    const parsed = probeRecordSchema.safeParse(record);
    if (parsed.success) return parsed.data;
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
      await this.#records.put(uid, term, this.#recordOf(probes));
      // It may have become another instance's meanwhile.
      if (this.#terms.has(uid)) this.#facts.put(uid, probes, { pod: uid, causes });
    }
  }
}
