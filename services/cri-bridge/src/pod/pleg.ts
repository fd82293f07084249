import type { Bus, Cause, FactOwner } from '@kubus/bus';
import { type RuntimePod, type Stamp, runtimeHint, runtimePod } from '@kubus/contracts';
import type { ContainerHint, EventsState } from '@kubus/cri';
import { ConcurrencyLimit } from '@kubus/flow';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { PodReader, fingerprintIn, fingerprintOf } from './pod-reader.ts';
import { BridgeMetrics } from '../bridge-metrics.ts';
import type { PodValues } from './pod-values.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Stamps } from '../runtime/stamps.ts';

/** Pods read at once, so that a burst of changes does not flood the runtime. */
const READS_AT_ONCE = 8;
/**
 * Milliseconds between relists: with runtime events they only catch what was missed, without them they are the only
 * source.
 */
const RELIST_MS = 30_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
/**
 * containerd 1.6 sends a container's stop event up to 0.1 s before its status shows it: the pod is read again after
 * these delays in milliseconds, until it does.
 */
const STOPPED_WAITS_MS = [10, 20, 40, 80, 160, 320, 640, 1_280];
/** How long a hint about an unknown container may wait for the command that creates it, in milliseconds. */
const UNKNOWN_CONTAINER_GRACE_MS = 5_000;
/** Milliseconds after a failed relist or read. */
const RETRY_MS = 1_000;

export interface PodRead {
  readonly pod: RuntimePod | undefined;
  readonly at: Stamp;
}

interface Watched {
  /** As last published; undefined when the runtime had nothing. */
  fingerprint: string | undefined;
  /** Number of running commands of the pod: their changes are read when they end. */
  busy: number;
  /** Something changed while it was busy or being read. */
  dirty: boolean;
  /** What came since the last read began: what the runtime said of the pod, if it did, and the cause that the hint is. */
  hints: { readonly says: string | undefined; readonly cause: Cause | undefined }[];
  /** What caused the next read, newest first. */
  causes: Cause[];
  reading: Promise<PodRead> | undefined;
  next: Promise<PodRead> | undefined;
}

/**
 * The pod lifecycle event generator (rule:hints): a runtime event is a hint to read one pod again, unless it says of all of the pod what was
 * already read, and a slow relist finds what the events missed. Each read is published as a fact, stamped before its first call.
 */
export class Pleg {
  readonly #runtime: Runtime;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stamps: Stamps;
  readonly #values: PodValues;
  readonly #metrics: BridgeMetrics;
  readonly #reader: PodReader;
  readonly #facts: FactOwner<RuntimePod>;
  readonly #pods = new Map<string, Watched>();
  readonly #podOf = new Map<string, string>();
  readonly #reads = new ConcurrencyLimit(READS_AT_ONCE);
  /** Containers that a hint reported as stopped, and how often their pod was read since. */
  readonly #stopped = new Map<string, number>();
  readonly #unknownContainers = new Set<string>();
  #unknownContainerTimer: Cancel | undefined;
  #events: EventsState = { state: 'none' };
  #relist: Cancel | undefined;
  #relisting = false;
  /** The last list was read, with every pod in it. */
  #complete = false;
  #ended = false;

  constructor(options: {
    runtime: Runtime;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    stamps: Stamps;
    values: PodValues;
    /** Default: nothing is measured. */
    metrics?: BridgeMetrics | undefined;
  }) {
    this.#runtime = options.runtime;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#stamps = options.stamps;
    this.#values = options.values;
    this.#metrics = options.metrics ?? new BridgeMetrics();
    this.#reader = new PodReader(options);
    this.#facts = options.bus.owner(runtimePod);
  }

  /** Starts to follow the runtime; its pods are published as soon as it answers. */
  start(onEvents: (state: EventsState) => void): void {
    this.#runtime.watchConnection((connection) => {
      if (connection === 'connected') this.#relistAfter(0);
    });
    this.#runtime.containerEvents({
      onHint: (hint) => this.#onHint(hint),
      onState: (state) => {
        const comes = state.state === 'streaming';
        if (comes !== (this.#events.state === 'streaming')) this.#metrics.eventStream(comes);
        this.#events = state;
        onEvents(state);
        // A relist finds what happened while there were no events.
        this.#relistAfter(0);
      },
    });
  }

  stop(): void {
    this.#ended = true;
    this.#relist?.();
    this.#unknownContainerTimer?.();
  }

  /** The pod of a container or sandbox that has been read. */
  podOf(id: string): string | undefined {
    return this.#podOf.get(id);
  }

  /** The complete set of pods is published and does not contain this one, and nothing is being done with it. */
  hasNothingOf(uid: string): boolean {
    return this.#complete && !this.#pods.has(uid);
  }

  /** Reads a pod and publishes the result. The read begins after this call. */
  read(uid: string, causes: readonly Cause[] = []): Promise<PodRead> {
    const watched = this.#watched(uid);
    watched.causes.unshift(...causes);
    if (watched.reading === undefined) return this.#startRead(uid, watched);
    // A running read began too early; all callers share the next one.
    watched.next ??= watched.reading
      .catch(() => undefined)
      .then(() => {
        watched.next = undefined;
        return this.#startRead(uid, watched);
      });
    return watched.next;
  }

  /** A command is about to change the pod. */
  commandStarts(uid: string): void {
    this.#watched(uid).busy += 1;
  }

  /** The command has ended; with `read`, the pod is read even without a hint. */
  commandEnds(uid: string, options: { read: boolean; causes: readonly Cause[] }): void {
    const watched = this.#watched(uid);
    watched.busy -= 1;
    if (options.read) watched.dirty = true;
    watched.causes.unshift(...options.causes);
    this.#readIfDirty(uid, watched);
  }

  /** The command has ended, and its answer contains the pod: reads it. */
  commandEndsWithRead(uid: string, causes: readonly Cause[]): Promise<PodRead> {
    this.#watched(uid).busy -= 1;
    return this.read(uid, causes);
  }

  #onHint(hint: ContainerHint): void {
    const { containerId, kind, at } = hint;
    this.#metrics.hint(this.#clock.now() - Date.parse(at));
    const known = hint.podUid === undefined ? undefined : this.#pods.get(hint.podUid);
    const says = fingerprintIn(hint);
    if (says !== undefined && known?.fingerprint === says && known.busy === 0 && known.reading === undefined) return;
    // Also where the pod is not known yet: the read after the command that created the container may come before its
    // new status.
    if (kind === 'stopped') this.#stopped.set(containerId, 0);
    const uid = hint.podUid ?? this.#podOf.get(containerId);
    if (uid === undefined) {
      this.#onUnknownContainer(containerId);
      return;
    }
    const watched = this.#watched(uid);
    const cause = watched.busy === 0 ? this.#bus.emit(runtimeHint, uid, { containerId, kind, at }) : undefined;
    watched.hints.push({ says, cause });
    this.#readIfDirty(uid, watched);
  }

  /**
   * A hint about a container that has not been read yet: usually a running command creates it and then has it read.
   * Otherwise, such as after a crash between the two, a relist finds it.
   */
  #onUnknownContainer(containerId: string): void {
    this.#unknownContainers.add(containerId);
    this.#unknownContainerTimer ??= this.#clock.after(UNKNOWN_CONTAINER_GRACE_MS, () => {
      this.#unknownContainerTimer = undefined;
      const unread = [...this.#unknownContainers].filter((id) => !this.#podOf.has(id));
      this.#unknownContainers.clear();
      for (const id of unread) this.#stopped.delete(id);
      if (unread.length > 0) this.#relistAfter(0);
    });
  }

  #readIfDirty(uid: string, watched: Watched): void {
    if (watched.busy > 0 || watched.reading !== undefined) return;
    // States have no way back: a hint that says what was read since is about a change that was read.
    const isNews = watched.hints.some(({ says }) => says === undefined || says !== watched.fingerprint);
    if (!isNews) watched.hints = [];
    if (!isNews && !watched.dirty) return;
    this.#startRead(uid, watched).catch(() => undefined);
  }

  #startRead(uid: string, watched: Watched): Promise<PodRead> {
    watched.dirty = false;
    const hinted = watched.hints.flatMap(({ cause }) => cause ?? []).reverse();
    watched.hints = [];
    const causes = [...hinted, ...watched.causes.splice(0)];
    const reading = this.#reads.run(async () => {
      const at = this.#stamps.next();
      const began = this.#clock.now();
      const pod = await this.#reader.read(uid, at);
      this.#metrics.podRead(this.#clock.now() - began);
      this.#publish(uid, watched, pod, causes);
      return { pod, at };
    });
    watched.reading = reading;
    const done = (failed: boolean) => {
      watched.reading = undefined;
      if (failed) {
        watched.causes.push(...causes);
        watched.dirty = true;
        this.#clock.after(RETRY_MS, () => this.#readIfDirty(uid, watched));
      } else if (watched.next === undefined) {
        this.#readIfDirty(uid, watched);
      }
      this.#forget(uid, watched);
    };
    reading.then(
      () => done(false),
      (error: unknown) => {
        this.#logger.warn({ podUid: uid, err: toError(error) }, 'cannot read a pod from the runtime');
        done(true);
      },
    );
    return reading;
  }

  #publish(uid: string, watched: Watched, pod: RuntimePod | undefined, causes: readonly Cause[]): void {
    watched.fingerprint = pod === undefined ? undefined : fingerprintOf(pod);
    if (pod === undefined) {
      for (const [id, owner] of this.#podOf) if (owner === uid) this.#podOf.delete(id);
      this.#values.forget(uid);
      this.#facts.remove(uid, { pod: uid, causes });
      return;
    }
    for (const { id } of [...pod.sandboxes, ...pod.containers]) this.#podOf.set(id, uid);
    this.#expectStopped(uid, watched, pod, causes);
    this.#facts.put(uid, pod, { pod: uid, causes });
  }

  #expectStopped(uid: string, watched: Watched, pod: RuntimePod, causes: readonly Cause[]): void {
    const running = new Set([
      ...pod.sandboxes.filter(({ ready }) => ready).map(({ id }) => id),
      ...pod.containers.filter(({ state }) => state === 'running').map(({ id }) => id),
    ]);
    for (const { id } of [...pod.sandboxes, ...pod.containers]) {
      const reads = this.#stopped.get(id);
      if (reads === undefined) continue;
      const wait = running.has(id) ? STOPPED_WAITS_MS[reads] : undefined;
      if (wait === undefined) {
        this.#stopped.delete(id);
        continue;
      }
      this.#stopped.set(id, reads + 1);
      this.#clock.after(wait, () => {
        watched.causes.push(...causes);
        watched.dirty = true;
        this.#readIfDirty(uid, watched);
      });
    }
  }

  #relistAfter(ms: number): void {
    this.#relist?.();
    if (this.#ended) return;
    this.#relist = this.#clock.after(ms, () => void this.#relistNow());
  }

  async #relistNow(): Promise<void> {
    if (this.#relisting) return;
    this.#relisting = true;
    const began = this.#clock.now();
    let wait = this.#events.state === 'streaming' ? RELIST_MS : RELIST_WITHOUT_EVENTS_MS;
    try {
      const outlines = await this.#reader.list();
      const changed = [...new Set([...outlines.keys(), ...this.#pods.keys()])].filter((uid) => {
        const watched = this.#pods.get(uid);
        // A pod with running commands is read when they end.
        if (watched !== undefined && watched.busy > 0) return false;
        return watched?.fingerprint !== outlines.get(uid)?.fingerprint;
      });
      const reads = await Promise.allSettled(changed.map((uid) => this.read(uid)));
      const failed = reads.filter(({ status }) => status === 'rejected').length;
      if (failed > 0) wait = RETRY_MS;
      // One pod that cannot be read must not block the node; without a connection no pod state is known.
      if (failed === 0 || this.#runtime.connection === 'connected') {
        this.#facts.complete();
        this.#complete = failed === 0;
      }
      this.#metrics.relisted(began, this.#clock.now());
    } catch (error) {
      if (this.#runtime.connection === 'connected') this.#logger.warn({ err: toError(error) }, 'relist failed');
      wait = RETRY_MS;
    } finally {
      this.#relisting = false;
    }
    this.#relistAfter(wait);
  }

  #watched(uid: string): Watched {
    let watched = this.#pods.get(uid);
    if (watched === undefined) {
      const idle = { busy: 0, dirty: false, hints: [], causes: [], reading: undefined, next: undefined };
      watched = { fingerprint: undefined, ...idle };
      this.#pods.set(uid, watched);
    }
    return watched;
  }

  #forget(uid: string, watched: Watched): void {
    const waits = watched.dirty || watched.hints.length > 0;
    const idle = watched.busy === 0 && !waits && watched.reading === undefined && watched.next === undefined;
    if (idle && watched.fingerprint === undefined) this.#pods.delete(uid);
  }
}
