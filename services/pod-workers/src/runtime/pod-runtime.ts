import { type Bus, type Cause, CommandFailed, CommandRefused, type FencingToken, PeerRestarted } from '@kubus/bus';
import {
  type CriRequest,
  type CriResult,
  type FencedMethod,
  type FirstFence,
  type RuntimePod,
  type Stamp,
  compareStamps,
  criCommands,
  fencePod,
  readPod,
  rpcErrorText,
} from '@kubus/contracts';
import { isSameRuntimeState } from '@kubus/pod';
import { mayRun } from '@kubus/pod-lifecycle';
import { type Clock, KubusError } from '@kubus/ports';
import { isAnswer } from './runtime-answer.ts';
import type { Ownership } from '../worker/ownership.ts';

/**
 * Thrown when the pod has to be fenced and read again before anything else: the bridge has restarted, or another instance
 * has fenced the pod.
 */
export class FencingTokenLost extends KubusError {}

/** Thrown when another instance owns the pod. */
export class PodTaken extends KubusError {}

/** Thrown when the runtime answers that it cannot read the pod. The message is the runtime's. */
export class ReadFailed extends KubusError {
  constructor(cause: CommandFailed) {
    super('read-failed', rpcErrorText(cause), { cause });
  }
}

/** Milliseconds to wait for the fact that follows the end of a command, before the pod is read on demand. */
const FACT_MS = 500;

/**
 * One pod in the runtime, as its worker uses it: keeps the pod's fencing token, knows the newest pod state, and never
 * returns a state whose read began before the last command ended (rule:hints).
 */
export class PodRuntime {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #uid: string;
  readonly #nextToken: (fencedOff: boolean) => number;
  readonly #ownership: Pick<Ownership, 'term'>;
  readonly #absentAt: (uid: string) => number | undefined;
  /** No earlier worker has had the pod, as far as its records say, and this one has neither read nor changed it. */
  #isNew: boolean;
  #token: FencingToken | undefined;
  #pod: RuntimePod | undefined;
  #at: Stamp | undefined;
  #lastEnd: Stamp | undefined;
  #isRead = false;
  /** The bridge has published that it has nothing of the pod any more, and the pod was not read since. */
  #isRemoved = false;
  #decidedOn: RuntimePod | undefined;
  /** The sandboxes and containers that were changed from here since that decision, by ID. */
  readonly #touched = new Set<string>();
  #cause: Cause | undefined;
  #waiting: (() => void)[] = [];

  /**
   * @param options.nextToken a number greater than all before; `fencedOff` when the last one was too small
   * @param options.isNew there is no record of the pod
   * @param options.absentAt the epoch of the cri-bridge whose complete set of pods does not contain this one
   */
  constructor(options: {
    bus: Bus;
    clock: Clock;
    uid: string;
    nextToken: (fencedOff: boolean) => number;
    ownership: Pick<Ownership, 'term'>;
    isNew: boolean;
    absentAt: (uid: string) => number | undefined;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#uid = options.uid;
    this.#nextToken = options.nextToken;
    this.#ownership = options.ownership;
    this.#isNew = options.isNew;
    this.#absentAt = options.absentAt;
  }

  /** The newest state, fresh or not; undefined when the runtime has nothing of the pod or was not read yet. */
  get pod(): RuntimePod | undefined {
    return this.#pod;
  }

  /** When that state was read. */
  get at(): Stamp | undefined {
    return this.#at;
  }

  /**
   * The bridge has answered here with the pod's state, or its complete set has shown that there is none. A published state
   * alone may be older than what an earlier process knew: a bridge that was killed has published less than it had answered.
   */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** The message that contained that state, or the end of the last command. */
  get cause(): readonly Cause[] {
    return this.#cause === undefined ? [] : [this.#cause];
  }

  /** The newest state is the one on which the worker now decides. */
  decideOn(): void {
    this.#decidedOn = this.#pod;
    this.#touched.clear();
  }

  /**
   * Whether the state has changed since the worker has last decided, and not only been read again or changed from here: a failed sync
   * reads its pod and makes a sandbox each time, and would be repeated without a pause. Later calls compare with the present state.
   */
  takeChange(): boolean {
    const hasChanged = !isSameRuntimeState(this.#untouched(this.#pod), this.#untouched(this.#decidedOn));
    // Otherwise what was changed from here is still to be seen.
    if (this.#isFresh()) this.decideOn();
    return hasChanged;
  }

  #untouched(pod: RuntimePod | undefined): RuntimePod | undefined {
    if (pod === undefined || this.#touched.size === 0) return pod;
    const sandboxes = pod.sandboxes.filter(({ id }) => !this.#touched.has(id));
    const containers = pod.containers.filter(
      ({ id, sandboxId }) => !this.#touched.has(id) && !this.#touched.has(sandboxId),
    );
    return sandboxes.length + containers.length === 0 ? undefined : { ...pod, sandboxes, containers };
  }

  /** Something of the pod runs, or may run. */
  get mayRun(): boolean {
    const { sandboxes = [], containers = [] } = this.#pod ?? {};
    return sandboxes.some(({ ready }) => ready) || containers.some(mayRun);
  }

  /** A state has arrived as a fact. Returns true when it is newer than the known one. */
  observe(pod: RuntimePod, cause: Cause): boolean {
    this.#isNew = false;
    this.#isRemoved = false;
    return this.#learn(pod, pod.stamp, cause);
  }

  /** The bridge has published that it has nothing of the pod any more, without a stamp: the next use reads the pod at once. */
  observeRemoval(cause: Cause): void {
    if (this.#pod === undefined) return;
    this.#isRemoved = true;
    this.#cause = cause;
    this.#endWaits();
  }

  /** Makes the next use fence and read the pod again. */
  dropFencingToken(): void {
    if (this.#token !== undefined) this.#bus.release(this.#token);
    this.#token = undefined;
  }

  /**
   * The pod's state for a decision about its start. A new pod of which the bridge has nothing is not fenced and read before:
   * its first RunPodSandbox does that, and is refused if anything has changed. Otherwise as {@link fresh}.
   */
  async beforeStart(causes: readonly Cause[]): Promise<RuntimePod | undefined> {
    const epoch = this.#token === undefined && this.#isNew ? this.#absentAt(this.#uid) : undefined;
    if (epoch === undefined) return this.fresh(causes);
    this.#at ??= { epoch, counter: 0 };
    this.#isRead = true;
    return undefined;
  }

  /** The pod's state, read after the last command ended. `causes`: why it is read. Throws {@link ReadFailed}. */
  async fresh(causes: readonly Cause[]): Promise<RuntimePod | undefined> {
    if (this.#token === undefined) await this.#fence(causes);
    const end = this.#clock.now() + FACT_MS;
    while (!this.#isRemoved && !this.#isFresh() && this.#clock.now() < end) {
      await this.#nextFact(end - this.#clock.now());
    }
    if (!this.#isFresh()) await this.read();
    return this.#pod;
  }

  /** The pod's state after the last command, as its answer contained it; read if it did not. Throws {@link ReadFailed}. */
  async afterCommand(): Promise<RuntimePod | undefined> {
    return this.#isFresh() ? this.#pod : this.read();
  }

  /** Reads the pod immediately. Throws {@link ReadFailed}. */
  async read(): Promise<RuntimePod | undefined> {
    try {
      const { result, cause } = await this.#bus.call(readPod, this.#uid, {}, { causes: this.cause });
      this.#isRemoved = false;
      this.#isRead = true;
      this.#learn(result.pod, result.at, cause);
    } catch (error) {
      throw isAnswer(error) ? new ReadFailed(error) : error;
    }
    return this.#pod;
  }

  /**
   * Makes a call that changes the pod. Throws {@link FencingTokenLost} when it is unknown whether it was carried out.
   *
   * @param references the objects that the call refers to.
   */
  async change<M extends FencedMethod>(
    method: M,
    params: CriRequest<M>['params'],
    causes: readonly Cause[],
    references: Pick<CriRequest<M>, 'process'> = {},
  ): Promise<CriResult<M>['response']> {
    const fence = this.#token === undefined && method === 'RunPodSandbox' ? this.#fenceFirst() : undefined;
    // Whatever comes next is decided on a read.
    this.#isNew = false;
    if (this.#token === undefined)
      throw new FencingTokenLost('fencing-token-lost', `pod ${this.#uid} has no fencing token`);
    // The request to create a container names its sandbox, which stays as it is.
    if (method !== 'CreateContainer') this.#touch(params);
    try {
      const { result, cause } = await this.#bus.call(
        criCommands[method],
        this.#uid,
        { params, ...references, ...(fence !== undefined && { fence }) },
        {
          fencingToken: this.#token,
          causes,
        },
      );
      this.#ended(result.at, cause);
      this.#touch(result.response);
      if (result.pod !== undefined) this.#learn(result.pod, result.pod.stamp, cause);
      return result.response;
    } catch (error) {
      // A failed call may also have changed something.
      const at = error instanceof CommandFailed ? endOf(error) : undefined;
      if (at !== undefined) this.#ended(at, undefined);
      throw this.#classify(error);
    }
  }

  /** Takes a fencing token for a new pod, which its first command carries to the bridge. */
  #fenceFirst(): FirstFence | undefined {
    const bridge = this.#isNew ? this.#absentAt(this.#uid) : undefined;
    if (bridge === undefined) return undefined;
    this.#isNew = false;
    this.#token = this.#bus.fencingToken(this.#uid, this.#nextToken(false));
    return { term: this.#ownership.term, bridge };
  }

  async #fence(causes: readonly Cause[]): Promise<void> {
    this.#isNew = false;
    let fencedOff = false;
    for (;;) {
      const number = this.#nextToken(fencedOff);
      const { term } = this.#ownership;
      try {
        const { result, cause } = await this.#bus.call(fencePod, this.#uid, { hold: number, term }, { causes });
        this.#token = this.#bus.fencingToken(this.#uid, number);
        this.#lastEnd = undefined;
        this.#isRemoved = false;
        this.#isRead = true;
        // A late answer may be older than the state observed in the meantime.
        this.#learn(result.pod, result.at, cause);
        return;
      } catch (error) {
        if (!isAnswer(error)) throw error;
        if (error.code !== 'fenced-off') throw new ReadFailed(error);
        // The pod may have been assigned to this instance again in the meantime.
        if (Number(error.context['term']) > this.#ownership.term) {
          throw new PodTaken('pod-taken', 'another instance owns the pod', { cause: error });
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
    if (this.#at === undefined || this.#isRemoved) return false;
    return this.#lastEnd === undefined || compareStamps(this.#at, this.#lastEnd) > 0;
  }

  #learn(pod: RuntimePod | undefined, at: Stamp, cause: Cause): boolean {
    if (this.#at !== undefined && compareStamps(at, this.#at) <= 0) return false;
    this.#pod = pod;
    this.#at = at;
    this.#cause = cause;
    this.#endWaits();
    return true;
  }

  /** @param message a request of the runtime or its response */
  #touch(message: object): void {
    const { podSandboxId, containerId } = message as { podSandboxId?: unknown; containerId?: unknown };
    for (const id of [podSandboxId, containerId]) if (typeof id === 'string') this.#touched.add(id);
  }

  #endWaits(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
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
    this.dropFencingToken();
    return new FencingTokenLost('fencing-token-lost', `pod ${this.#uid} must be read again`, { cause: error });
  }
}

/** The time at which a failed call ended, from the bridge's answer. */
function endOf(error: CommandFailed): Stamp | undefined {
  const { endEpoch, endCounter } = error.context;
  if (typeof endEpoch !== 'number' || typeof endCounter !== 'number') return undefined;
  return { epoch: endEpoch, counter: endCounter };
}
