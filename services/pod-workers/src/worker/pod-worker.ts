import { type Cause, withStartTime, formatTime } from '@kubus/bus';
import type { Pod, PodProbes, PodRef, PodWork, RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { type WorkerInput, type WorkerMachine, gracePeriod, initialMachine, stepWorker } from '@kubus/pod-lifecycle';
import { isEndedByShutdown, isTerminal } from '@kubus/pod-status';
import { type Logger, toError } from '@kubus/ports';
import { forgetStops } from '../containers/stops-under-way.ts';
import type { PodRecord } from '../records/pod-record.ts';
import { RecordFile } from '../records/record-file.ts';
import { PodRuntime, ReadFailed } from '../runtime/pod-runtime.ts';
import { deadlineLeftMs } from '../status/active-deadline.ts';
import { StatusPublisher } from '../status/status-publisher.ts';
import { type TerminatedSync, type TerminatingSync, syncTerminatedPod, syncTerminatingPod } from '../sync/end-pod.ts';
import { type SyncPodSync, syncPod } from '../sync/sync-pod.ts';
import { OverdueKill } from './overdue-kill.ts';
import type { Ownership } from './ownership.ts';
import { PodMemory } from './pod-memory.ts';
import { StateReport } from './state-report.ts';
import { SyncMeasure } from './sync-measure.ts';
import { type Lack, outcomeOf } from './sync-outcome.ts';
import { SyncQueue } from './sync-queue.ts';
import type { WorkerDeps } from './worker-deps.ts';

export interface PodWorkerOptions {
  readonly ref: PodRef;
  readonly ownership: Ownership;
  readonly deps: WorkerDeps;
  /** The record of an earlier process of the worker. */
  readonly record?: PodRecord | undefined;
  /** The message that assigned the pod to this instance. */
  readonly cause?: Cause | undefined;
  /** Called after each sync. */
  readonly onSynced: () => void;
}

/**
 * The worker of one pod UID: one sync after another, each based on the newest work and the newest pod state, so that
 * only the latest counts (behaviour:pod-workers).
 */
export class PodWorker {
  readonly ref: PodRef;
  readonly #deps: WorkerDeps;
  readonly #logger: Logger;
  readonly #runtime: PodRuntime;
  readonly #status: StatusPublisher;
  readonly #record: RecordFile;
  readonly #state: StateReport;
  readonly #overdue: OverdueKill;
  readonly #memory: PodMemory;
  readonly #queue: SyncQueue;
  readonly #measure: SyncMeasure;
  readonly #ownership: Ownership;
  #machine: WorkerMachine;
  #work: PodWork | undefined;
  /** The message that contained the current work: a cause of everything that is done for it. */
  #workCause: Cause | undefined;
  /** What the last sync was missing, if it failed. */
  #lack: Lack | undefined;
  /** Whether a sync has cleaned up after the terminated pod. */
  #cleaned = false;
  #stopped = false;

  constructor({ ref, ownership, deps, record, cause, onSynced }: PodWorkerOptions) {
    const { absentAt, bus, clock, records, nextToken } = deps;
    const isNew = record === undefined;
    const logger = deps.logger.child({ pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid });
    this.ref = ref;
    this.#workCause = cause;
    this.#ownership = ownership;
    this.#deps = deps;
    this.#logger = logger;
    this.#runtime = new PodRuntime({ bus, clock, uid: ref.uid, nextToken, absentAt, ownership, isNew });
    this.#machine = { ...initialMachine, ...record?.machine };
    this.#measure = new SyncMeasure(deps, isNew);
    this.#memory = new PodMemory(record);
    this.#record = new RecordFile({ ref, records, clock, logger, ownership, content: () => this.#toRecord() });
    this.#state = new StateReport({ ref, deps });
    this.#overdue = new OverdueKill(ref, deps);
    if (!isNew) this.#report();
    this.#status = new StatusPublisher({ ref, deps, logger, runtime: this.#runtime, status: record?.status });
    if (this.#machine.state === 'terminated' || this.finished) this.#status.republish(this.#why());
    const probes = deps.probesOf(ref.uid);
    if (probes !== undefined) this.#memory.probes.learn(probes);
    this.#queue = new SyncQueue({
      clock,
      maySync: () => this.#work !== undefined && !this.finished,
      sync: (causes, signal) => this.#sync(causes, signal),
      onSynced,
    });
  }

  get finished(): boolean {
    return this.#machine.state === 'finished';
  }

  get term(): number {
    return this.#ownership.term;
  }

  /** The pod, with the resources that it has been granted; undefined when it ends or has ended. */
  get activePod(): Pod | undefined {
    return this.#machine.state === 'syncing' ? this.#work?.pod : undefined;
  }

  /** The pod's containers at the last read of the runtime. */
  get containers(): readonly RuntimeContainer[] {
    return this.#runtime.pod?.containers ?? [];
  }

  /** The error of the last write of the pod's record; undefined when it succeeded. */
  get saveError(): string | undefined {
    return this.#record.error;
  }

  /** The sync loop has this work for the pod. */
  setWork(work: PodWork, cause: Cause): void {
    this.#ownership.raise(work.term ?? 0);
    this.#workCause = cause;
    if (work.work === 'sync' && (this.finished || this.#returnsAfterShutdown(work))) this.#restart(work);
    this.#measure.onWork(work);
    if (this.#work === undefined && work.pod !== undefined) this.#memory.probes.recall(work.pod);
    this.#work = work;
    this.#step({ kind: 'work', work }, [cause]);
    this.#report(undefined, [cause]);
    // Nothing else is done for such a pod.
    if (work.work === 'reject') this.#publishStatus([cause]);
    this.#queue.requeue(cause);
  }

  /** The sync loop no longer has work for this pod: the pod is stopped, if it has not already ended. */
  endWithoutWork(cause: Cause): void {
    const { bus, clock } = this.#deps;
    const unknown = { source: 'runtime', worker: bus.instance, firstSeen: formatTime(clock.now()) } as const;
    const reason = 'the sync loop has no work for it';
    this.setWork({ ...(this.#work ?? unknown), ref: this.ref, work: 'kill', reason }, cause);
  }

  /** The runtime or the network is ready. */
  nodeReady(cause: Cause): void {
    if (this.#lack === 'node') this.#queue.requeue(cause);
  }

  /** The volume manager has published the pod's volumes again; a running sync may have read the old ones. */
  volumesChanged(cause: Cause): void {
    const isExceeded = this.#deps.volumesOf(this.ref.uid)?.excess !== undefined;
    if (this.#lack === 'volumes' || this.#queue.syncing || isExceeded) this.#queue.requeue(cause);
  }

  /** The node is short of disk space, which concerns pods that have ended, or has other CPUs for all, which concerns those that run. */
  nodeChanged(what: 'cpus' | 'space', cause: Cause): void {
    if (this.#machine.state === (what === 'cpus' ? 'syncing' : 'terminated')) this.#queue.requeue(cause);
  }

  /** Some object of the API server has become known, or has changed. */
  objectsChanged(concerns: (pod: Pod) => boolean, cause: Cause): void {
    const pod = this.#lack === undefined && !this.#queue.syncing ? undefined : this.#work?.pod;
    if (pod !== undefined && concerns(pod)) this.#queue.requeue(cause);
  }

  /** The pod has devices, or their health has changed: only the status shows it. */
  devicesChanged(cause: Cause): void {
    this.#showState([cause]);
  }

  /** The bridge has published the pod state. */
  observe(pod: RuntimePod, cause: Cause): void {
    if (!this.#runtime.observe(pod, cause)) return;
    this.#showState([cause]);
    // A running sync may still decide on it.
    if (!this.#queue.syncing) this.#syncIfChanged();
  }

  /** The bridge has published that the runtime no longer has the pod. */
  observeRemoval(cause: Cause): void {
    this.#runtime.observeRemoval(cause);
    this.#queue.requeue(cause);
  }

  /** The prober has published results. Startup and liveness decide what to do, readiness only what the status shows. */
  observeProbes(probes: PodProbes, cause: Cause): void {
    const changed = this.#memory.probes.learn(probes);
    if (changed.length === 0 || this.finished) return;
    // Recorded before any action or message that follows from it.
    void this.#record.save().then(() => {
      this.#showState([cause]);
      if (changed.some((kind) => kind !== 'readiness')) this.#queue.requeue(cause);
    });
  }

  /** The bridge has restarted: the commands that it was carrying out are lost. */
  bridgeRestarted(): void {
    this.#runtime.dropFencingToken();
    this.#queue.requeue();
  }

  stop(): void {
    this.#stopped = true;
    this.#overdue.stop();
    this.#record.stop();
    this.#queue.stop();
  }

  /** Leaves the pod to another instance, or to a later process, with everything recorded. */
  async handOver(): Promise<void> {
    const written = this.#record.close();
    this.stop();
    this.#runtime.dropFencingToken();
    await written;
  }

  /** Syncs once. Resolves with the milliseconds until the next sync, if one follows by itself. */
  async #sync(news: readonly Cause[], signal: AbortSignal): Promise<number | undefined> {
    const work = this.#work;
    if (work === undefined) return undefined;
    const led = this.#workCause === undefined ? news : [...new Set([...news, this.#workCause])];
    const now = this.#deps.clock.now();
    const causes = led.map((cause) => withStartTime(cause, now));
    this.#lack = undefined;
    this.#runtime.decideOn();
    const waitMs = await this.#measure.measure(this.#machine.state, work, () =>
      this.#syncState(work, causes, signal).then(
        () => this.#next(this.#deps.syncEveryMs, undefined),
        (error: unknown) => this.#onError(error),
      ),
    );
    this.#syncIfChanged();
    return waitMs;
  }

  /** Syncs again if something else has changed in the runtime since the last decision; nothing that matters to a pod that was cleaned up. */
  #syncIfChanged(): void {
    if (!this.#runtime.takeChange() || (this.#cleaned && !this.#runtime.mayRun)) return;
    this.#queue.requeue(...this.#runtime.cause);
  }

  /** Performs the action of the worker's state, and passes the outcome to the state machine. */
  async #syncState(work: PodWork, causes: readonly Cause[], signal: AbortSignal): Promise<void> {
    await this.#record.saved();
    const sync = this.#podSync(work, causes, signal);
    const { state, forget } = this.#machine;
    if (state === 'syncing' && work.pod !== undefined) {
      const terminal = await syncPod(sync, work.pod);
      // Other work may have come meanwhile: this sync has stopped nothing of what that ends.
      if (!terminal || this.#machine.state !== state) return;
      this.#step({ kind: 'synced', terminal, graceSeconds: this.#status.graceSeconds });
    } else if (state === 'syncing' || state === 'terminating') {
      await syncTerminatingPod(sync);
      this.#step({ kind: 'synced', terminal: true });
    } else if (state === 'terminated') {
      await syncTerminatedPod(sync, forget);
      // The pod must be removed entirely since this sync began: the next one removes the rest of it.
      if (forget !== this.#machine.forget) return;
      if (forget) await this.#record.forget();
      else this.#cleaned = true;
      this.#step({ kind: 'synced', terminal: true });
    }
  }

  #onError(error: unknown): number | undefined {
    const outcome = outcomeOf(error);
    if (outcome.kind === 'failed') {
      this.#lack = outcome.lack;
      if (error instanceof ReadFailed) {
        const message = `error determining status: ${error.message}`;
        this.#deps.events.record({ ref: this.ref, type: 'Warning', reason: 'FailedSync', message }, this.#why());
      }
      if (!outcome.expected) this.#logger.error({ err: toError(error) }, 'pod sync failed');
      return this.#next(outcome.waitMs, toError(error).message);
    }
    if (outcome.kind === 'again') this.#queue.again();
    else this.#ownership.onTaken();
    return undefined;
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

  #podSync(
    work: PodWork,
    causes: readonly Cause[],
    signal: AbortSignal,
  ): SyncPodSync & TerminatingSync & TerminatedSync {
    const { waiting, backOffs, cpuSets, stops, resize } = this.#memory;
    forgetStops(stops, this.#runtime.pod?.containers);
    return {
      ...this.#deps,
      ...{ waiting, backOffs, cpuSets, stops, resize, causes, signal },
      ref: this.ref,
      pod: work.pod,
      evicted: this.#status.evicted,
      lastStatus: this.#status.status,
      userNamespace: work.userNamespace,
      runtime: this.#runtime,
      logger: this.#logger,
      graceSeconds: this.#machine.graceSeconds ?? gracePeriod(work.pod, work.graceSeconds),
      probes: () => this.#memory.probes.results,
      save: () => this.#record.save(),
      fresh: () => this.#decideOn(this.#runtime.fresh(causes)),
      beforeStart: () => this.#decideOn(this.#runtime.beforeStart(causes)),
      publishStatus: () => this.#publishStatus(causes),
      withStatusHeld: (act) => this.#status.whileHeld(act),
    };
  }

  /** The pod state on which the sync decides next, with everything that its status shows. */
  async #decideOn(read: Promise<RuntimePod | undefined>): Promise<RuntimePod | undefined> {
    await read;
    this.#runtime.decideOn();
    return this.#status.readMessages().then(() => read);
  }

  /** Passes an event to the state machine; a change is recorded before any action on it, and ends the running sync. */
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
    // Before the state: a status from before it, with a phase that is final only now, would be taken for the last one.
    if (state === 'terminated') this.#publishStatus(causes);
    this.#report(undefined, causes);
    this.#queue.again();
    if (input.kind === 'work') this.#queue.abort();
    void this.#record.save();
  }

  /**
   * A static pod that was ended, or refused, because the machine shut down starts again after the boot, since its manifest still exists
   * (behaviour:node-shutdown). While the shutdown lasts, its work is different.
   */
  #returnsAfterShutdown({ source }: PodWork): boolean {
    const isIdle = this.#machine.state === 'terminated' || this.#work === undefined;
    return isIdle && source !== 'api' && isEndedByShutdown(this.#status.status);
  }

  /** A UID that had finished is desired again: its earlier state is dropped. */
  #restart(work: PodWork): void {
    this.#measure.onRestart(work);
    this.#machine = initialMachine;
    this.#cleaned = false;
    this.#record.revive();
    this.#status.reset();
    this.#memory.clear();
    this.#state.changed();
    this.#report();
  }

  #report(error?: string, causes: readonly Cause[] = this.#why()): void {
    if (!this.#stopped) this.#state.report(this.#machine.state, { error, cleaned: this.#cleaned }, causes);
  }

  /** The causes of the pod's current state. */
  #why(): readonly Cause[] {
    return [...this.#runtime.cause, ...(this.#workCause === undefined ? [] : [this.#workCause])];
  }

  /** Publishes the status outside of a sync, once everything that it shows is known. */
  #showState(causes: readonly Cause[]): void {
    if (this.finished || this.#status.held || this.#stopped) return;
    if (this.#status.informed) {
      this.#publishStatus(causes);
      return;
    }
    void this.#status.readMessages().then(() => this.#showState(causes));
  }

  #publishStatus(causes: readonly Cause[]): string | undefined {
    const work = this.#work;
    // Before the runtime was read, running containers would be shown as lost, and a pod that runs once would fail for good.
    const informed = this.#runtime.isRead || work?.work === 'reject';
    if (informed && work?.pod !== undefined && !this.#stopped) {
      const { state } = this.#machine;
      const { results: probes } = this.#memory.probes;
      const { waiting, resize } = this.#memory;
      const input = { work, pod: work.pod, waiting, probes, resize, state, causes };
      if (this.#status.publish(input)) this.#record.saveSoon();
    }
    return this.#status.status?.phase;
  }

  #toRecord(): PodRecord {
    const { status } = this.#status;
    this.#memory.probes.keepOnly(this.#runtime.pod, this.#deps.probesOf(this.ref.uid));
    return {
      version: 1,
      ref: this.ref,
      machine: this.#machine,
      ...this.#memory.toRecord(),
      ...(status !== undefined && { status }),
    };
  }
}
