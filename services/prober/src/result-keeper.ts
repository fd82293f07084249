import type { Cause, FactOwner } from '@kubus/bus';
import { type PodProbes, podProbesSchema } from '@kubus/contracts';
import { type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

/** How long after a failed write of a record it is tried again. */
const RETRY_MS = 1_000;

const recordSchema = z.object({ version: z.literal(1), probes: podProbesSchema });

interface Wanted {
  /** Undefined: the pod is to be forgotten. */
  readonly probes: PodProbes | undefined;
  readonly causes: readonly Cause[];
}

export interface ResultKeeperOptions {
  readonly records: RecordStore;
  readonly facts: FactOwner<PodProbes>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Says what the probes of each pod say: first into its record, so that a Ready pod stays Ready over the prober's own
 * restart, then on the bus (DESIGN rule 11). Per pod the latest wins.
 */
export class ResultKeeper {
  readonly #records: RecordStore;
  readonly #facts: FactOwner<PodProbes>;
  readonly #clock: Clock;
  readonly #logger: Logger;
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

  /** Publishes what an earlier life knew, and returns it by pod UID. */
  async restore(): Promise<Map<string, PodProbes>> {
    const restored = new Map<string, PodProbes>();
    for (const [uid, record] of await this.#records.load()) {
      const parsed = recordSchema.safeParse(record);
      if (!parsed.success) {
        this.#logger.error({ podUid: uid, err: parsed.error }, 'a record of probe results can not be read');
        await this.#records.delete(uid);
        continue;
      }
      const { probes } = parsed.data;
      restored.set(uid, probes);
      this.#last.set(uid, JSON.stringify(probes));
      this.#facts.put(uid, probes, { pod: uid });
    }
    this.#facts.complete();
    return restored;
  }

  /** Keeps and publishes the results of a pod if they changed. */
  put(probes: PodProbes, causes: readonly Cause[]): void {
    const { uid } = probes.ref;
    const text = JSON.stringify(probes);
    if (this.#last.get(uid) === text) return;
    this.#last.set(uid, text);
    this.#want(uid, { probes, causes });
  }

  /** Removes what there is of a pod; harmless when there is nothing. */
  remove(uid: string, causes: readonly Cause[]): void {
    if (this.#last.delete(uid)) this.#want(uid, { probes: undefined, causes });
  }

  /** Nothing is tried again after this. */
  stop(): void {
    this.#stopped = true;
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

  async #say(uid: string, { probes, causes }: Wanted): Promise<void> {
    if (probes === undefined) {
      await this.#records.delete(uid);
      this.#facts.remove(uid, { pod: uid, causes });
    } else {
      await this.#records.put(uid, { version: 1, probes });
      this.#facts.put(uid, probes, { pod: uid, causes });
    }
  }
}
