import type { Cause } from '@kubus/bus';
import { formatTime } from '@kubus/bus';
import {
  type PodRef,
  type PodStatus,
  type PodWork,
  type RuntimePod,
  type Stamp,
  compareStamps,
} from '@kubus/contracts';
import {
  type BackOffEntry,
  type WorkerInput,
  type WorkerMachine,
  gracePeriod,
  initialMachine,
  stepWorker,
} from '@kubus/pod-lifecycle';
import { type WaitingReason, podStatus } from '@kubus/pod-status';
import { type Cancel, type Logger, toError } from '@kubus/ports';
import { terminatedPass, terminatingPass } from './ending-passes.ts';
import { NodeNotReady, type Pass, PassCancelled, RETRY_MS, TryAgain } from './pass.ts';
import type { PodRecord } from './pod-record.ts';
import { HoldLost, PodRuntime } from './pod-runtime.ts';
import { syncPass } from './sync-pass.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** How long a changed status may wait until it is in the record. */
const SAVE_STATUS_MS = 2_000;

/**
 * The worker of one pod UID: one pass after another, each deciding anew by the present work and the present state of
 * the runtime, so that only the latest counts (kubelet behaviour 1.3).
 */
export class PodWorker {
  readonly ref: PodRef;
  readonly #deps: WorkerDeps;
  readonly #logger: Logger;
  readonly #runtime: PodRuntime;
  readonly #waiting = new Map<string, WaitingReason>();
  readonly #backOffs: Map<string, BackOffEntry>;
  readonly #onFirstPass: () => void;
  #machine: WorkerMachine;
  #work: PodWork | undefined;
  #status: PodStatus | undefined;
  /** What has come up since the last pass began, newest first. */
  #causes: Cause[] = [];
  /** The message that brought the present work: a cause of all that is done. */
  #workCause: Cause | undefined;
  /** The last pass ended because the runtime or the network was not ready. */
  #nodeNotReady = false;
  #passing: AbortController | undefined;
  #due = false;
  #passedOn: Stamp | undefined;
  #timer: Cancel | undefined;
  #saveTimer: Cancel | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** The record has been removed for good: nothing writes it again. */
  #forgotten = false;
  #stopped = false;
  #reported = '';
  #since: string;
  #saveError: string | undefined;

  constructor(options: { ref: PodRef; deps: WorkerDeps; record?: PodRecord | undefined; onFirstPass: () => void }) {
    const { ref, deps, record } = options;
    this.ref = ref;
    this.#deps = deps;
    this.#onFirstPass = options.onFirstPass;
    this.#logger = deps.logger.child({ pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid });
    this.#runtime = new PodRuntime({ bus: deps.bus, clock: deps.clock, uid: ref.uid, nextHold: deps.nextHold });
    this.#machine = { ...initialMachine, ...record?.machine };
    this.#backOffs = new Map(Object.entries(record?.backOffs ?? {}));
    this.#status = record?.status;
    this.#since = formatTime(deps.clock.now());
    if (record !== undefined) this.#report();
    if (this.#status !== undefined) deps.statuses.put(ref.uid, { ref, status: this.#status }, { pod: ref.uid });
  }

  get finished(): boolean {
    return this.#machine.state === 'finished';
  }

  get hasWork(): boolean {
    return this.#work !== undefined;
  }

  /** Why the pod's record could not be written the last time. */
  get saveError(): string | undefined {
    return this.#saveError;
  }

  /** The work is now this. */
  setWork(work: PodWork, cause: Cause): void {
    if (this.finished && work.work === 'sync') this.#begin();
    this.#work = work;
    this.#workCause = cause;
    this.#step({ kind: 'work', work }, [cause]);
    this.#report(undefined, [cause]);
    this.#kick(cause);
  }

  /** Nobody has work for this pod any more: it ends, if it has not already. */
  workGone(cause: Cause): void {
    const work = this.#work;
    this.setWork(
      {
        ...(work ?? {
          source: 'runtime',
          worker: this.#deps.bus.instance,
          firstSeen: formatTime(this.#deps.clock.now()),
        }),
        ref: this.ref,
        work: 'kill',
        reason: 'the sync loop has no work for it',
      },
      cause,
    );
  }

  /** The pod needs a look; `runtime` is the state because of which. */
  wake(runtime: Stamp | undefined, cause: Cause): void {
    if (runtime !== undefined && this.#passedOn !== undefined && compareStamps(runtime, this.#passedOn) <= 0) return;
    this.#kick(cause);
  }

  /** The runtime or the network is ready. */
  nodeReady(cause: Cause): void {
    if (this.#nodeNotReady) this.#kick(cause);
  }

  /** The runtime's state of the pod has been read. */
  observe(pod: RuntimePod, cause: Cause): void {
    if (this.#runtime.observe(pod, cause) && !this.finished) this.#publishStatus([cause]);
  }

  /** The bridge has a new life: what was asked of the old one is lost. */
  bridgeRestarted(): void {
    this.#runtime.dropHold();
    this.#due = true;
    this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#saveTimer?.();
    this.#passing?.abort();
  }

  #kick(cause: Cause): void {
    this.#causes.unshift(cause);
    this.#due = true;
    this.#run();
  }

  #run(): void {
    if (this.#passing !== undefined || this.#stopped || this.#work === undefined || this.finished) return;
    this.#timer?.();
    this.#due = false;
    const passing = new AbortController();
    this.#passing = passing;
    const causes = this.#causes.splice(0);
    if (this.#workCause !== undefined && !causes.includes(this.#workCause)) causes.push(this.#workCause);
    this.#nodeNotReady = false;
    this.#pass(this.#work, causes, passing.signal)
      .then(
        () => this.#next(this.#deps.syncEveryMs, undefined),
        (error: unknown) => this.#onError(error),
      )
      .finally(() => {
        this.#passing = undefined;
        this.#onFirstPass();
        if (this.#due) this.#run();
      });
  }

  async #pass(work: PodWork, causes: readonly Cause[], signal: AbortSignal): Promise<void> {
    await this.#saving;
    const pass = this.#makePass(work, causes, signal);
    const { state, forget } = this.#machine;
    if (state === 'syncing' && work.pod !== undefined) {
      const terminal = await syncPass(pass, work.pod);
      if (terminal) this.#step({ kind: 'passed', terminal });
    } else if (state === 'syncing' || state === 'terminating') {
      await terminatingPass(pass);
      this.#step({ kind: 'passed', terminal: true });
    } else if (state === 'terminated') {
      await terminatedPass(pass, forget);
      if (forget) await this.#forget();
      this.#step({ kind: 'passed', terminal: true });
    }
    this.#passedOn = this.#runtime.at;
  }

  #onError(error: unknown): void {
    if (error instanceof PassCancelled || error instanceof HoldLost) {
      this.#due = true;
      return;
    }
    this.#nodeNotReady = error instanceof NodeNotReady;
    const wait = error instanceof TryAgain ? error.waitMs : RETRY_MS;
    if (!(error instanceof TryAgain)) this.#logger.error({ err: toError(error) }, 'the pass failed');
    this.#next(wait, toError(error).message);
  }

  #next(waitMs: number, error: string | undefined): void {
    this.#report(error);
    if (this.finished || this.#stopped) return;
    const jitter = waitMs * 0.5 * this.#deps.ids.fraction();
    this.#timer?.();
    this.#timer = this.#deps.clock.after(waitMs + jitter, () => {
      this.#due = true;
      this.#run();
    });
  }

  #makePass(work: PodWork, causes: readonly Cause[], signal: AbortSignal): Pass {
    return {
      deps: this.#deps,
      ref: this.ref,
      pod: work.pod,
      runtime: this.#runtime,
      logger: this.#logger,
      signal,
      causes,
      waiting: this.#waiting,
      backOffs: this.#backOffs,
      graceSeconds: this.#machine.graceSeconds ?? gracePeriod(work.pod, work.graceSeconds),
      save: () => this.#save(),
      publishStatus: () => this.#publishStatus(causes),
    };
  }

  /** Feeds the state machine; a change is written down before anything is done about it, and ends what goes on. */
  #step(input: WorkerInput, causes: readonly Cause[] = this.#why()): void {
    const before = this.#machine;
    this.#machine = stepWorker(before, input);
    const { state, graceSeconds, forget } = this.#machine;
    const changed = state !== before.state || graceSeconds !== before.graceSeconds || forget !== before.forget;
    if (!changed) return;
    if (state !== before.state) {
      this.#since = formatTime(this.#deps.clock.now());
      this.#logger.info({ state, reason: this.#machine.reason }, 'worker state');
    }
    this.#report(undefined, causes);
    this.#due = true;
    if (input.kind === 'work') this.#passing?.abort();
    void this.#save();
  }

  /** A UID that was ended is wanted again: nothing of its earlier life counts. */
  #begin(): void {
    this.#machine = initialMachine;
    this.#forgotten = false;
    this.#status = undefined;
    this.#waiting.clear();
    this.#backOffs.clear();
    this.#since = formatTime(this.#deps.clock.now());
    this.#report();
  }

  #report(error?: string, causes: readonly Cause[] = this.#why()): void {
    const { ref } = this;
    const { state } = this.#machine;
    const reported = `${state} ${error ?? ''}`;
    if (reported === this.#reported) return;
    this.#reported = reported;
    const report = { ref, state, since: this.#since, ...(error !== undefined && { error }) };
    this.#deps.states.put(ref.uid, report, { pod: ref.uid, causes });
  }

  /** What the pod's present state comes from. */
  #why(): readonly Cause[] {
    return [...this.#runtime.cause, ...(this.#workCause === undefined ? [] : [this.#workCause])];
  }

  #publishStatus(causes: readonly Cause[]): string | undefined {
    const pod = this.#work?.pod;
    if (pod === undefined) return this.#status?.phase;
    const { clock, statuses, nodeIps, runtime } = this.#deps;
    const status = podStatus({
      pod,
      runtime: this.#runtime.pod,
      waiting: this.#waiting,
      previous: this.#status,
      ending: this.#machine.state !== 'syncing',
      runtimeName: runtime()?.name ?? 'containerd',
      hostIps: nodeIps,
      now: clock.now(),
    });
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return status.phase;
    this.#status = status;
    const { ref } = this;
    const at = this.#runtime.at;
    statuses.put(
      ref.uid,
      { ref, status, ...(at !== undefined && { runtime: at }) },
      {
        pod: ref.uid,
        causes: [...this.#runtime.cause, ...causes],
      },
    );
    this.#saveAfter(SAVE_STATUS_MS);
    return status.phase;
  }

  #saveAfter(ms: number): void {
    this.#saveTimer ??= this.#deps.clock.after(ms, () => {
      this.#saveTimer = undefined;
      void this.#save();
    });
  }

  /**
   * Writes the record. A folder that can not be written must not keep a pod from being started or ended: what would be
   * lost is told, and the service's health shows it.
   */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (this.#forgotten) return;
      const record: PodRecord = {
        version: 1,
        ref: this.ref,
        machine: this.#machine,
        backOffs: Object.fromEntries(this.#backOffs),
        ...(this.#status !== undefined && { status: this.#status }),
      };
      try {
        await this.#deps.records.put(this.ref.uid, record);
        this.#saveError = undefined;
      } catch (error) {
        this.#saveError = toError(error).message;
        this.#logger.error({ err: toError(error) }, 'the pod’s record could not be written');
        if (!this.#stopped) this.#saveAfter(RETRY_MS);
      }
    });
    return this.#saving;
  }

  async #forget(): Promise<void> {
    this.#forgotten = true;
    await this.#saving;
    await this.#deps.records.delete(this.ref.uid);
  }
}
