import { type Bus, type Cause, CommandFailed, CommandRefused, type Hold, PeerRestarted } from '@kubus/bus';
import {
  type CriRequest,
  type CriResult,
  type FencedMethod,
  type RuntimePod,
  type Stamp,
  compareStamps,
  criCommands,
  fencePod,
  readPod,
  rpcErrorText,
} from '@kubus/contracts';
import { type Clock, KubusError } from '@kubus/ports';
import { isAnswer } from './runtime-answer.ts';
import type { Tenure } from './tenure.ts';

/** The pod has to be fenced and read anew before anything else: the bridge restarted, or somebody else took the pod. */
export class HoldLost extends KubusError {}

/** Another instance has the pod. */
export class PodTaken extends KubusError {}

/** The runtime has answered that it can not tell what it has of the pod. The message is its own. */
export class ReadFailed extends KubusError {
  constructor(cause: CommandFailed) {
    super('read-failed', rpcErrorText(cause), { cause });
  }
}

/** How long to wait for the fact that a command's end brings, before the pod is read on demand. */
const FACT_MS = 500;

/**
 * One pod in the runtime, as its worker deals with it: holds the pod's fence, knows the newest state that was read, and
 * never gives out a state whose read began before the last command ended (DESIGN rule 4).
 */
export class PodRuntime {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #uid: string;
  readonly #nextHold: (fencedOff: boolean) => number;
  readonly #tenure: Pick<Tenure, 'term'>;
  #hold: Hold | undefined;
  #pod: RuntimePod | undefined;
  #at: Stamp | undefined;
  #lastEnd: Stamp | undefined;
  #cause: Cause | undefined;
  #waiting: (() => void)[] = [];

  /** @param options.nextHold a number greater than all before; `fencedOff` when the last one was too small */
  constructor(options: {
    bus: Bus;
    clock: Clock;
    uid: string;
    nextHold: (fencedOff: boolean) => number;
    tenure: Pick<Tenure, 'term'>;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#uid = options.uid;
    this.#nextHold = options.nextHold;
    this.#tenure = options.tenure;
  }

  /** The newest state, fresh or not; undefined when the runtime has nothing of the pod or was not asked yet. */
  get pod(): RuntimePod | undefined {
    return this.#pod;
  }

  /** When that state was read. */
  get at(): Stamp | undefined {
    return this.#at;
  }

  /** The message that brought that state, or the end of the last command. */
  get cause(): readonly Cause[] {
    return this.#cause === undefined ? [] : [this.#cause];
  }

  /** A state has arrived as a fact. True when it is newer than what was known. */
  observe(pod: RuntimePod, cause: Cause): boolean {
    return this.#learn(pod, pod.stamp, cause);
  }

  /** Makes the next use fence and read the pod anew. */
  dropHold(): void {
    if (this.#hold !== undefined) this.#bus.release(this.#hold);
    this.#hold = undefined;
  }

  /** The pod's state, read after the last command ended. `causes`: why it is asked for. Throws {@link ReadFailed}. */
  async fresh(causes: readonly Cause[]): Promise<RuntimePod | undefined> {
    if (this.#hold === undefined) await this.#fence(causes);
    const end = this.#clock.now() + FACT_MS;
    while (!this.#isFresh() && this.#clock.now() < end) await this.#nextFact(end - this.#clock.now());
    if (!this.#isFresh()) await this.read();
    return this.#pod;
  }

  /** Reads the pod now. Throws {@link ReadFailed}. */
  async read(): Promise<RuntimePod | undefined> {
    try {
      const { result, cause } = await this.#bus.call(readPod, this.#uid, {}, { causes: this.cause });
      this.#learn(result.pod, result.at, cause);
    } catch (error) {
      throw isAnswer(error) ? new ReadFailed(error) : error;
    }
    return this.#pod;
  }

  /**
   * Carries out a call that changes the pod. Throws {@link HoldLost} when nobody knows whether it was done.
   *
   * @param references what the call is completed with.
   */
  async change<M extends FencedMethod>(
    method: M,
    params: CriRequest<M>['params'],
    causes: readonly Cause[],
    references: Pick<CriRequest<M>, 'process'> = {},
  ): Promise<CriResult<M>['response']> {
    if (this.#hold === undefined) throw new HoldLost('hold-lost', `pod ${this.#uid} is not held`);
    try {
      const { result, cause } = await this.#bus.call(
        criCommands[method],
        this.#uid,
        { params, ...references },
        {
          hold: this.#hold,
          causes,
        },
      );
      this.#ended(result.at, cause);
      return result.response;
    } catch (error) {
      // A failed call may have changed something too.
      const at = error instanceof CommandFailed ? endOf(error) : undefined;
      if (at !== undefined) this.#ended(at, undefined);
      throw this.#classify(error);
    }
  }

  async #fence(causes: readonly Cause[]): Promise<void> {
    let fencedOff = false;
    for (;;) {
      const number = this.#nextHold(fencedOff);
      const { term } = this.#tenure;
      try {
        const { result, cause } = await this.#bus.call(fencePod, this.#uid, { hold: number, term }, { causes });
        this.#hold = this.#bus.hold(this.#uid, number);
        this.#lastEnd = undefined;
        // A late answer may be older than what has been observed meanwhile.
        this.#learn(result.pod, result.at, cause);
        return;
      } catch (error) {
        if (!isAnswer(error)) throw error;
        if (error.code !== 'fenced-off') throw new ReadFailed(error);
        // The pod may have been given to this instance anew while it asked.
        if (Number(error.context['term']) > this.#tenure.term) {
          throw new PodTaken('pod-taken', 'another instance has the pod', { cause: error });
        }
        fencedOff = true;
      }
    }
  }

  #ended(at: Stamp, cause: Cause | undefined): void {
    if (cause !== undefined) this.#cause = cause;
    if (this.#lastEnd === undefined || compareStamps(at, this.#lastEnd) > 0) this.#lastEnd = at;
  }

  #isFresh(): boolean {
    if (this.#at === undefined) return false;
    return this.#lastEnd === undefined || compareStamps(this.#at, this.#lastEnd) > 0;
  }

  #learn(pod: RuntimePod | undefined, at: Stamp, cause: Cause): boolean {
    if (this.#at !== undefined && compareStamps(at, this.#at) <= 0) return false;
    this.#pod = pod;
    this.#at = at;
    this.#cause = cause;
    for (const resolve of this.#waiting.splice(0)) resolve();
    return true;
  }

  #nextFact(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(waitMs, resolve);
      this.#waiting.push(() => {
        cancel();
        resolve();
      });
    });
  }

  #classify(error: unknown): unknown {
    const lost =
      error instanceof PeerRestarted ||
      (error instanceof CommandRefused && (error.code === 'not-fenced' || error.code === 'fenced-off')) ||
      (error instanceof CommandFailed && error.code === 'dropped') ||
      (error instanceof KubusError && error.code === 'released');
    if (!lost) return error;
    this.dropHold();
    return new HoldLost('hold-lost', `pod ${this.#uid} must be read anew`, { cause: error });
  }
}

/** When the bridge says that a failed call ended. */
function endOf(error: CommandFailed): Stamp | undefined {
  const { endEpoch, endCounter } = error.context;
  if (typeof endEpoch !== 'number' || typeof endCounter !== 'number') return undefined;
  return { epoch: endEpoch, counter: endCounter };
}
