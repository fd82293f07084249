import { type Cause, begunAt, formatTime } from '@kubus/bus';
import {
  type Pod,
  type PodProbes,
  type PodRef,
  type PodWork,
  type RuntimeContainer,
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
import { type WaitingReason, isTerminal } from '@kubus/pod-status';
import { type Logger, toError } from '@kubus/ports';
import { noSizes } from '@kubus/resize';
import { RecordTaken } from '@kubus/service-kit';
import { deadlineLeftMs } from './active-deadline.ts';
import { terminatedPass, terminatingPass } from './ending-passes.ts';
import { NodeNotReady, type Pass, PassCancelled, RETRY_MS, type ResizeState, TryAgain } from './pass.ts';
import { PassLoop } from './pass-loop.ts';
import { PassMeasure } from './pass-measure.ts';
import type { PodRecord } from './pod-record.ts';
import { OverdueKill } from './overdue-kill.ts';
import { HoldLost, PodRuntime, PodTaken, ReadFailed } from './pod-runtime.ts';
import { ProbeMemory } from './probe-memory.ts';
import { RecordFile } from './record-file.ts';
import { StatusPublisher } from './status-publisher.ts';
import { StateReport } from './state-report.ts';
import { type StopsUnderWay, forgetStops } from './stop.ts';
import { syncPass } from './sync-pass.ts';
import type { Tenure } from './tenure.ts';
import { VolumesAwaited } from './volumes.ts';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * The worker of one pod UID: one pass after another, each deciding anew by the present work and the present state of
 * the runtime, so that only the latest counts (kubelet behaviour 1.3).
 */
export class PodWorker {
  readonly ref: PodRef;
  readonly #deps: WorkerDeps;
  readonly #logger: Logger;
  readonly #runtime: PodRuntime;
  readonly #status: StatusPublisher;
  readonly #probes: ProbeMemory;
  readonly #record: RecordFile;
  readonly #state: StateReport;
  readonly #overdue: OverdueKill;
  readonly #waiting = new Map<string, WaitingReason>();
  readonly #backOffs: Map<string, BackOffEntry>;
  readonly #stops: StopsUnderWay = new Map();
  readonly #resize: ResizeState;
  readonly #passes: PassLoop;
  readonly #measure: PassMeasure;
  readonly #tenure: Tenure;
  #machine: WorkerMachine;
  #work: PodWork | undefined;
  /** The message that brought the present work: a cause of all that is done. */
  #workCause: Cause | undefined;
  /** What the last pass ended for the lack of; `anything`: of something that is asked for again after a while. */
  #awaits: 'node' | 'volumes' | 'anything' | undefined;
  /** A pass has taken away what the pod leaves. */
  #cleaned = false;
  #decidedOn: Stamp | undefined;
  #passedOn: Stamp | undefined;
  #stopped = false;

  constructor(options: {
    ref: PodRef;
    tenure: Tenure;
    deps: WorkerDeps;
    record?: PodRecord | undefined;
    /** The message that gave the pod to this instance. */
    cause?: Cause | undefined;
    onPassed: () => void;
  }) {
    const { ref, tenure, deps, record } = options;
    this.ref = ref;
    this.#workCause = options.cause;
    this.#tenure = tenure;
    this.#deps = deps;
    this.#logger = deps.logger.child({ pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid });
    const { bus, clock, records } = deps;
    const logger = this.#logger;
    this.#runtime = new PodRuntime({ bus, clock, uid: ref.uid, nextHold: deps.nextHold, tenure });
    this.#machine = { ...initialMachine, ...record?.machine };
    this.#measure = new PassMeasure(deps, record === undefined);
    this.#backOffs = new Map(Object.entries(record?.backOffs ?? {}));
    this.#probes = new ProbeMemory(record?.probes);
    this.#resize = { sizes: record?.sizes ?? noSizes, error: undefined };
    this.#record = new RecordFile({ ref, records, clock, logger, tenure, content: () => this.#toRecord() });
    this.#state = new StateReport({ ref, deps });
    this.#overdue = new OverdueKill(ref, deps);
    if (record !== undefined) this.#report();
    this.#status = new StatusPublisher({ ref, deps, logger, runtime: this.#runtime, status: record?.status });
    if (this.#machine.state === 'terminated' || this.finished) this.#status.retell(this.#why());
    const probes = deps.probes(ref.uid);
    if (probes !== undefined) this.#probes.learn(probes);
    this.#passes = new PassLoop({
      clock,
      mayPass: () => this.#work !== undefined && !this.finished,
      pass: (causes, signal) => this.#makePass(causes, signal),
      onPassed: options.onPassed,
    });
  }

  get finished(): boolean {
    return this.#machine.state === 'finished';
  }

  get term(): number {
    return this.#tenure.term;
  }

  /** The pod's containers, as the runtime was last read. */
  get containers(): readonly RuntimeContainer[] {
    return this.#runtime.pod?.containers ?? [];
  }

  /** Why the pod's record could not be written the last time. */
  get saveError(): string | undefined {
    return this.#record.error;
  }

  /** The work is now this. */
  setWork(work: PodWork, cause: Cause): void {
    this.#tenure.raise(work.term ?? 0);
    this.#workCause = cause;
    if (this.finished && work.work === 'sync') this.#begin(work);
    this.#measure.given(work);
    if (this.#work === undefined && work.pod !== undefined) this.#probes.recall(work.pod);
    this.#work = work;
    this.#step({ kind: 'work', work }, [cause]);
    this.#report(undefined, [cause]);
    // Nothing else is done with such a pod.
    if (work.work === 'reject') this.#publishStatus([cause]);
    this.#passes.kick(cause);
  }

  /** Nobody has work for this pod any more: it ends, if it has not already. */
  workGone(cause: Cause): void {
    const { bus, clock } = this.#deps;
    const unheard = { source: 'runtime', worker: bus.instance, firstSeen: formatTime(clock.now()) } as const;
    const reason = 'the sync loop has no work for it';
    this.setWork({ ...(this.#work ?? unheard), ref: this.ref, work: 'kill', reason }, cause);
  }

  /** The pod needs a look; `runtime` is the state because of which. */
  wake(runtime: Stamp | undefined, cause: Cause): void {
    if (runtime !== undefined && this.#passedOn !== undefined && compareStamps(runtime, this.#passedOn) <= 0) return;
    this.#passes.kick(cause);
  }

  /** The runtime or the network is ready. */
  nodeReady(cause: Cause): void {
    if (this.#awaits === 'node') this.#passes.kick(cause);
  }

  /** The volume manager says something else of the pod's volumes; a pass that goes on may have looked at them already. */
  volumesChanged(cause: Cause): void {
    const isExceeded = this.#deps.volumes(this.ref.uid)?.excess !== undefined;
    if (this.#awaits === 'volumes' || this.#passes.passing || isExceeded) this.#passes.kick(cause);
  }

  /** Of the API server's objects something is known now or different. */
  objectsChanged(concerns: (pod: Pod) => boolean, cause: Cause): void {
    const pod = this.#awaits === undefined && !this.#passes.passing ? undefined : this.#work?.pod;
    if (pod !== undefined && concerns(pod)) this.#passes.kick(cause);
  }

  /** The pod has devices, or they are in another state than before: there is nothing to do, but to tell. */
  devicesChanged(cause: Cause): void {
    this.#showState([cause]);
  }

  /** The runtime's state of the pod has been read. */
  observe(pod: RuntimePod, cause: Cause): void {
    if (this.#runtime.observe(pod, cause)) this.#showState([cause]);
  }

  /** The prober has spoken of the pod. Startup and liveness decide what to do, readiness only what to say. */
  observeProbes(probes: PodProbes, cause: Cause): void {
    const changed = this.#probes.learn(probes);
    if (changed.length === 0 || this.finished) return;
    // Written down before anything is done or said because of it.
    void this.#record.save().then(() => {
      this.#showState([cause]);
      if (changed.some((kind) => kind !== 'readiness')) this.#passes.kick(cause);
    });
  }

  /** The bridge has a new life: what was asked of the old one is lost. */
  bridgeRestarted(): void {
    this.#runtime.dropHold();
    this.#passes.kick();
  }

  stop(): void {
    this.#stopped = true;
    this.#overdue.stop();
    this.#record.stop();
    this.#passes.stop();
  }

  /** Leaves the pod to another instance, or to a later life, with everything written down. */
  async handOver(): Promise<void> {
    const written = this.#record.close();
    this.stop();
    this.#runtime.dropHold();
    await written;
  }

  /** Milliseconds until the next pass, if one follows by itself. */
  async #makePass(news: readonly Cause[], signal: AbortSignal): Promise<number | undefined> {
    const work = this.#work;
    if (work === undefined) return undefined;
    const led = this.#workCause === undefined ? news : [...new Set([...news, this.#workCause])];
    const now = this.#deps.clock.now();
    const causes = led.map((cause) => begunAt(cause, now));
    this.#awaits = undefined;
    return this.#measure.pass(this.#machine.state, work, () =>
      this.#pass(work, causes, signal).then(
        () => this.#next(this.#deps.syncEveryMs, undefined),
        (error: unknown) => this.#onError(error),
      ),
    );
  }

  async #pass(work: PodWork, causes: readonly Cause[], signal: AbortSignal): Promise<void> {
    await this.#record.saved();
    const pass = this.#passOver(work, causes, signal);
    const { state, forget } = this.#machine;
    if (state === 'syncing' && work.pod !== undefined) {
      const terminal = await syncPass(pass, work.pod);
      if (terminal) this.#step({ kind: 'passed', terminal, graceSeconds: this.#status.graceSeconds });
    } else if (state === 'syncing' || state === 'terminating') {
      await terminatingPass(pass);
      this.#step({ kind: 'passed', terminal: true });
      this.#publishStatus(causes);
    } else if (state === 'terminated') {
      await terminatedPass(pass, forget);
      // The pod is to be forgotten since this pass began: the next one takes the rest of it away.
      if (forget !== this.#machine.forget) return;
      if (forget) await this.#record.forget();
      else this.#cleaned = true;
      this.#step({ kind: 'passed', terminal: true });
    }
    // What the runtime had when the pass last decided; by the end of the pass it may have more.
    this.#passedOn = this.#decidedOn;
  }

  #onError(error: unknown): number | undefined {
    if (error instanceof PassCancelled || error instanceof HoldLost) {
      this.#passes.again();
      return undefined;
    }
    if (error instanceof PodTaken || error instanceof RecordTaken) {
      this.#tenure.onTaken();
      return undefined;
    }
    this.#awaits = error instanceof NodeNotReady ? 'node' : error instanceof VolumesAwaited ? 'volumes' : 'anything';
    const wait = error instanceof TryAgain ? error.waitMs : RETRY_MS;
    if (error instanceof ReadFailed) {
      const message = `error determining status: ${error.message}`;
      this.#deps.events.record({ ref: this.ref, type: 'Warning', reason: 'FailedSync', message }, this.#why());
    }
    if (!(error instanceof TryAgain)) this.#logger.error({ err: toError(error) }, 'the pass failed');
    return this.#next(wait, toError(error).message);
  }

  #next(waitMs: number, error: string | undefined): number | undefined {
    this.#report(error);
    if (this.finished) return undefined;
    const { ids, clock } = this.#deps;
    const jittered = waitMs + waitMs * 0.5 * ids.fraction();
    const { status } = this.#status;
    const pod = this.#machine.state === 'syncing' && !isTerminal(status?.phase) ? this.#work?.pod : undefined;
    const deadline = pod && deadlineLeftMs(pod, status, clock.now());
    return Math.min(jittered, deadline ?? Infinity);
  }

  #passOver(work: PodWork, causes: readonly Cause[], signal: AbortSignal): Pass {
    forgetStops(this.#stops, this.#runtime.pod?.containers);
    return {
      deps: this.#deps,
      ref: this.ref,
      pod: work.pod,
      userNamespace: work.userNamespace,
      runtime: this.#runtime,
      logger: this.#logger,
      signal,
      causes,
      waiting: this.#waiting,
      backOffs: this.#backOffs,
      stops: this.#stops,
      resize: this.#resize,
      graceSeconds: this.#machine.graceSeconds ?? gracePeriod(work.pod, work.graceSeconds),
      probes: () => this.#probes.results,
      save: () => this.#record.save(),
      fresh: async () => {
        const pod = await this.#runtime.fresh(causes);
        this.#decidedOn = this.#runtime.at;
        await this.#status.learnEnds();
        return pod;
      },
      publishStatus: () => this.#publishStatus(causes),
      withStatusHeld: (act) => this.#status.whileHeld(act),
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
      this.#state.changed();
      this.#overdue.changed(this.#machine, this.#work);
      this.#logger.info({ state, reason: this.#machine.reason }, 'worker state');
    }
    this.#report(undefined, causes);
    this.#passes.again();
    if (input.kind === 'work') this.#passes.abort();
    void this.#record.save();
  }

  /** A UID that was ended is wanted again: nothing of its earlier life counts. */
  #begin(work: PodWork): void {
    this.#measure.begunAnew(work);
    this.#machine = initialMachine;
    this.#cleaned = false;
    this.#record.revive();
    this.#status.reset();
    for (const known of [this.#waiting, this.#backOffs, this.#stops]) known.clear();
    this.#resize.sizes = noSizes;
    this.#state.changed();
    this.#report();
  }

  #report(error?: string, causes: readonly Cause[] = this.#why()): void {
    if (!this.#stopped) this.#state.report(this.#machine.state, { error, cleaned: this.#cleaned }, causes);
  }

  /** What the pod's present state comes from. */
  #why(): readonly Cause[] {
    return [...this.#runtime.cause, ...(this.#workCause === undefined ? [] : [this.#workCause])];
  }

  /** Publishes the status outside of a pass, once everything is known that it is to show. */
  #showState(causes: readonly Cause[]): void {
    if (this.finished || this.#status.held || this.#stopped) return;
    if (this.#status.informed) {
      this.#publishStatus(causes);
      return;
    }
    void this.#status.learnEnds().then(() => this.#showState(causes));
  }

  #publishStatus(causes: readonly Cause[]): string | undefined {
    const work = this.#work;
    // Before the runtime was asked, what runs would be told of as lost.
    const informed = this.#runtime.at !== undefined || work?.work === 'reject';
    if (informed && work?.pod !== undefined && !this.#stopped) {
      const { state } = this.#machine;
      const { results: probes } = this.#probes;
      const told = { work, pod: work.pod, waiting: this.#waiting, probes, resize: this.#resize, state, causes };
      if (this.#status.publish(told)) this.#record.saveSoon();
    }
    return this.#status.status?.phase;
  }

  #toRecord(): PodRecord {
    const { status } = this.#status;
    const { pod } = this.#runtime;
    const ids = [
      ...(pod?.containers ?? []).map(({ id }) => id),
      ...Object.keys(this.#deps.probes(this.ref.uid)?.containers ?? {}),
    ];
    if (pod !== undefined) this.#probes.keepOnly(new Set(ids));
    const probes = this.#probes.toRecord();
    return {
      version: 1,
      ref: this.ref,
      machine: this.#machine,
      backOffs: Object.fromEntries(this.#backOffs),
      ...(status !== undefined && { status }),
      ...(Object.keys(probes).length > 0 && { probes }),
      ...(this.#resize.sizes !== noSizes && { sizes: this.#resize.sizes }),
    };
  }
}
