import type { PodRef } from '@kubus/contracts';
import type { Rate } from '@kubus/event-correlator';
import type { KubeError } from '@kubus/kube';
import type { Cancel, Clock, Ids } from '@kubus/ports';
import { type FailureScope, type Urgency, compareUrgency, retryMs } from '@kubus/status-patch';
import { Turns } from './turns.ts';

/** How many writes are under way at most. */
const AT_ONCE = 10;
/** How long news that nobody waits for may wait for what follows them, in milliseconds. */
const CALM_MS = 100;

/** Something that is to be written under a name. */
export interface Task {
  readonly urgency: Urgency;
  /** UID of the object: another one of the name does not wait because a write of this one has failed. */
  readonly ref: Pick<PodRef, 'uid'>;
}

export interface WriteQueueOptions<T extends Task> {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly rate: Rate;
  /** What is to be written under a name by what is known now; undefined for nothing. */
  readonly plan: (name: string) => T | undefined;
  /** Writes; resolves with why it did not succeed. */
  readonly perform: (task: T) => Promise<WriteError | undefined>;
  /** The task has to wait because the API server serves nobody. */
  readonly delayed: (task: T) => void;
  /** The task was written; milliseconds since it was first planned, failed tries included. */
  readonly done: (task: T, tookMs: number) => void;
}

export interface WriteError {
  readonly scope: FailureScope;
  readonly error: KubeError;
}

/** A task that is not under way. Times are in milliseconds since the Unix epoch. */
interface Candidate<T extends Task = Task> {
  readonly name: string;
  readonly task: T;
  /** Before that it may not begin. */
  readonly at: number;
  readonly since: number;
}

interface BackOff {
  /** UID of the object. */
  readonly of: string;
  readonly scope: FailureScope;
  readonly failures: number;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

/**
 * Writes what the API server has to be told, by name: one write at a time for a name and several at once over all, the most
 * urgent first and of those the one that has waited longest. What is written is what is known then: what changes during a
 * write is written after it, and what is no longer needed is not written.
 *
 * A write that fails is tried again after a time that grows. When the API server does not answer, or serves nobody, all of
 * them wait, and then one after the other is tried until one succeeds.
 */
export class WriteQueue<T extends Task> {
  readonly #options: WriteQueueOptions<T>;
  readonly #turns: Turns;
  readonly #tasks = new Map<string, { readonly task: T; readonly since: number }>();
  /** By name: whether something has changed since the write began. */
  readonly #running = new Map<string, { changed: boolean; news: boolean }>();
  readonly #backOffs = new Map<string, BackOff>();
  readonly #ends = new Set<() => void>();
  #outage: BackOff | undefined;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: WriteQueueOptions<T>) {
    this.#options = options;
    this.#turns = new Turns(options.rate);
  }

  /** How many names have something to be written. */
  get waiting(): number {
    return this.#tasks.size;
  }

  /** Since the last try the API server does not answer, or serves nobody. */
  get suspended(): boolean {
    return this.#outage !== undefined;
  }

  /** Something about the name has changed. `news`: of what the API server has, which may be what a write was refused for. */
  touch(name: string, news = false): void {
    const running = this.#running.get(name);
    if (running !== undefined) {
      running.changed = true;
      running.news ||= news;
      return;
    }
    if (news && this.#backOffs.get(name)?.scope === 'stale') this.#backOffs.delete(name);
    this.#plan(name);
    this.#pump();
  }

  /** Begins nothing more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#ends.add(resolve));
  }

  /** @param waitsSince when it was first planned, if it was before */
  #plan(name: string, waitsSince?: number): void {
    const { plan, clock, delayed } = this.#options;
    const task = plan(name);
    if (task === undefined) {
      this.#tasks.delete(name);
      this.#backOffs.delete(name);
      return;
    }
    if (this.#backOffs.get(name)?.of !== task.ref.uid) this.#backOffs.delete(name);
    this.#tasks.set(name, { task, since: this.#tasks.get(name)?.since ?? waitsSince ?? clock.now() });
    if (this.#outage !== undefined) delayed(task);
  }

  /** Begins what may begin now, and comes back when more may. */
  #pump(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { clock } = this.#options;
    while (!this.#stopped && this.#running.size < (this.#outage === undefined ? AT_ONCE : 1)) {
      const now = clock.now();
      const next = this.#next(now);
      if (next === undefined) return;
      const waitMs = next.at > now ? next.at - now : this.#turns.take(next.task.urgency !== 'other', now);
      if (waitMs > 0) {
        this.#timer = clock.after(waitMs, () => this.#pump());
        return;
      }
      void this.#run(next.name, next.task);
    }
  }

  /** The most urgent of those that may be written; when there is none, the one that may be written first. */
  #next(now: number): Candidate<T> | undefined {
    let best: Candidate<T> | undefined;
    for (const [name, { task, since }] of this.#tasks) {
      if (this.#running.has(name)) continue;
      const calmUntil = task.urgency === 'other' ? since + CALM_MS : 0;
      const at = Math.max(now, calmUntil, this.#backOffs.get(name)?.until ?? 0, this.#outage?.until ?? 0);
      const one = { name, task, at, since };
      if (best === undefined || compareCandidates(one, best) < 0) best = one;
    }
    return best;
  }

  async #run(name: string, task: T): Promise<void> {
    const running = { changed: false, news: false };
    const since = this.#tasks.get(name)?.since ?? this.#options.clock.now();
    this.#running.set(name, running);
    this.#tasks.delete(name);
    const failed = await this.#options.perform(task);
    this.#running.delete(name);
    if (failed === undefined) {
      this.#backOffs.delete(name);
      this.#outage = undefined;
      this.#options.done(task, this.#options.clock.now() - since);
    } else {
      this.#failed(name, task, failed, running.news);
    }
    this.#plan(name, failed === undefined ? undefined : since);
    if (this.#running.size === 0) for (const end of this.#ends) end();
    this.#pump();
  }

  #failed(name: string, { ref }: T, { scope, error }: WriteError, news: boolean): void {
    const { clock, ids, delayed } = this.#options;
    const before = scope === 'server' ? this.#outage : this.#backOffs.get(name);
    const failures = (before?.failures ?? 0) + 1;
    const waitMs = Math.max(retryMs(scope, failures, ids.fraction()), error.retryAfterMs ?? 0);
    const backOff = { of: ref.uid, scope, failures, until: clock.now() + waitMs };
    if (scope !== 'server') {
      // The API server answers.
      this.#outage = undefined;
      if (scope === 'object' || !news) this.#backOffs.set(name, backOff);
      return;
    }
    // Of several writes that fail together, the first one decides how long all wait.
    if (this.#outage !== undefined && this.#outage.until > clock.now()) return;
    this.#outage = backOff;
    for (const { task } of this.#tasks.values()) delayed(task);
  }
}

/** Negative when `one` is written before `other`. */
function compareCandidates(one: Candidate, other: Candidate): number {
  return one.at - other.at || compareUrgency(one.task.urgency, other.task.urgency) || one.since - other.since;
}
