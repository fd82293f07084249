import type { Cause, FactOwner } from '@kubus/bus';
import { type PodProbes, podProbesSchema } from '@kubus/contracts';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { OwnershipLost, type SharedRecords } from '@kubus/service-kit';
import * as z from 'zod';

/** Milliseconds before the retry of a failed write. */
const RETRY_MS = 1_000;

/** The record of a pod's probe results, kept over restarts and between instances. */
export const probeRecordSchema = z.object({
  version: z.literal(1),
  probes: podProbesSchema,
  /** The instance that determined the results, and its epoch. */
  by: z.string().optional(),
  epoch: z.number().optional(),
});
type ProbeRecord = z.infer<typeof probeRecordSchema>;

/** The last facts of an earlier process of this instance. */
interface SaidBefore {
  readonly probes: PodProbes;
  readonly epoch: number;
}

interface Wanted {
  /** Undefined: the pod no longer has any. */
  readonly probes: PodProbes | undefined;
  /** The pod has ended for good. */
  readonly over: boolean;
  readonly causes: readonly Cause[];
}

export interface ResultKeeperOptions {
  readonly records: SharedRecords;
  /** The instance, and the epoch of this process. */
  readonly life: { readonly by: string; readonly epoch: number };
  readonly facts: FactOwner<PodProbes>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Publishes the probe results of each pod: first into its record, so that a Ready pod stays Ready over the prober's
 * own restart and its move to another instance, then on the bus (rule:own-records). The newest result of a pod wins.
 */
export class ResultKeeper {
  readonly #records: SharedRecords;
  readonly #life: ResultKeeperOptions['life'];
  readonly #facts: FactOwner<PodProbes>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By UID: the term under which this instance owns the pod. */
  readonly #terms = new Map<string, number>();
  /** By UID: the last results, as text. */
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

  /** Why records cannot be written now. */
  get saveError(): string | undefined {
    return this.#error;
  }

  /** The pods that have results. */
  get pods(): readonly string[] {
    return [...this.#last.keys()];
  }

  /**
   * Claims the pods for which `isOwn` is true, of those with a record or a fact of an earlier process: publishes their
   * known results, and returns them by pod UID. Skips pods that it owns already, unless another instance has owned
   * them in between.
   *
   * @param options.said the last facts of earlier processes of this instance, by pod UID; a process of another program
   * in its place does not use the records
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

  /** This instance has published every pod that it knows. */
  complete(): void {
    this.#facts.complete();
  }

  /** This instance owns the pod. Under a greater term than before, another one may have owned it in between. */
  claim(uid: string, term: number): void {
    if ((this.#terms.get(uid) ?? -1) >= term) return;
    this.#terms.set(uid, term);
    this.#facts.claim(uid, term);
  }

  /** Another instance owns the pod and its results. */
  release(uid: string): void {
    this.#terms.delete(uid);
    this.#last.delete(uid);
    this.#wanted.delete(uid);
    this.#facts.release(uid);
  }

  /** Records and publishes the results of a pod of this instance, if they changed. */
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

  /** Like {@link remove}, for a pod that has ended. */
  forget(uid: string, causes: readonly Cause[]): void {
    this.#last.delete(uid);
    if (this.#terms.has(uid)) this.#want(uid, { probes: undefined, over: true, causes });
  }

  /** No write is retried after this. */
  stop(): void {
    this.#stopped = true;
  }

  /** Releases a pod that another instance has claimed since: this process may not have received that yet, after a start or a pause. */
  async #stillHas(uid: string): Promise<boolean> {
    const term = this.#terms.get(uid);
    if (term === undefined) return false;
    try {
      await this.#records.take(uid, term);
    } catch (error) {
      // What cannot be written now is reported with the next result.
      if (!(error instanceof OwnershipLost)) return true;
      this.release(uid);
      return false;
    }
    return true;
  }

  /** The known results of a pod: its record, or facts that are newer than it. */
  async #known(uid: string, term: number, said: SaidBefore | undefined): Promise<PodProbes | undefined> {
    try {
      const record = await this.#readRecord(uid, term);
      if (said === undefined || !this.#isOlder(record, said)) return record?.probes;
      await this.#records.put(uid, term, this.#recordOf(said.probes));
      return said.probes;
    } catch (error) {
      this.#logger.warn({ podUid: uid, err: toError(error) }, 'cannot take over the record of probe results');
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
      this.#logger.error({ podUid: uid, err: parsed.error }, 'cannot parse the record of probe results');
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
        if (error instanceof OwnershipLost) {
          this.release(uid);
          break;
        }
        if (!this.#wanted.has(uid)) this.#wanted.set(uid, wanted);
        this.#error = toError(error).message;
        this.#logger.error({ podUid: uid, err: toError(error) }, 'cannot write the record of probe results; retrying');
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
      // Another instance may own it by now.
      if (this.#terms.has(uid)) this.#facts.put(uid, probes, { pod: uid, causes });
    }
  }
}
