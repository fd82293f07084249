import type { PodRef } from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { KubeError } from '@kubus/kube';
import { type FailureScope, type Urgency, compareUrgency, retryMs } from '@kubus/pod-status';
import type { Cancel, Clock, Ids } from '@kubus/ports';
import { WriteRate } from './write-rate.ts';

/** Parallel writes. */
const AT_ONCE = 10;
/** How long a write that is not urgent waits for further changes, in milliseconds. */
const CALM_MS = 100;

/** Something to be written under a name. */
export interface Task {
  readonly urgency: Urgency;
  /** UID of the object: the next one of the name does not wait for a failed write of this one. */
  readonly ref: Pick<PodRef, 'uid'>;
}

export interface WriteQueueOptions<T extends Task> {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly rate: Rate;
  /** What is to be written under a name in the current state; undefined for nothing. */
  readonly plan: (name: string) => T | undefined;
  /** Writes; resolves with the error when it failed. */
  readonly perform: (task: T) => Promise<WriteError | undefined>;
  /** The task has to wait because the API server refuses every request. */
  readonly delayed: (task: T) => void;
  /** The task was written; milliseconds since it was first planned, failed attempts included. */
  readonly done: (task: T, tookMs: number) => void;
}

export interface WriteError {
  readonly scope: FailureScope;
  readonly error: KubeError;
}

/** A task that is not running. Times are in milliseconds since the Unix epoch. */
interface Candidate<T extends Task = Task> {
  readonly name: string;
  readonly task: T;
  /** Earliest start. */
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
 * Writes to the API server, by name: one write at a time per name and several at once over all, the most urgent first
 * and of those the longest waiting one. What is written is the state at that time: changes during a write are written
 * after it, and what is no longer needed is not written.
 *
 * A failed write is retried after a growing delay. When the API server does not answer, or refuses every request, all
 * writes wait, and then they are tried one after the other until one succeeds.
 */
export class WriteQueue<T extends Task> {
  readonly #options: WriteQueueOptions<T>;
  readonly #writeRate: WriteRate;
  readonly #tasks = new Map<string, { readonly task: T; readonly since: number }>();
  /** By name: whether something has changed since the write started. */
  readonly #running = new Map<string, { changed: boolean; news: boolean }>();
  readonly #backOffs = new Map<string, BackOff>();
  readonly #ends = new Set<() => void>();
  #outage: BackOff | undefined;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: WriteQueueOptions<T>) {
    this.#options = options;
    this.#writeRate = new WriteRate(options.rate);
  }

  /** Number of names with a write that waits. */
  get waiting(): number {
    return this.#tasks.size;
  }

  /** Whether the API server did not answer the last attempt, or refuses every request. */
  get suspended(): boolean {
    return this.#outage !== undefined;
  }

  /** The state of the name has changed. `news`: on the API server, which may remove the reason of a refusal. */
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

  /** Starts nothing more; resolves when no write is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#ends.add(resolve));
  }

  /** @param waitsSince when it was first planned; default: now */
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

  /** Starts what may start now, and sets a timer for the rest. */
  #pump(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { clock } = this.#options;
    while (!this.#stopped && this.#running.size < (this.#outage === undefined ? AT_ONCE : 1)) {
      const now = clock.now();
      const next = this.#next(now);
      if (next === undefined) return;
      const waitMs = next.at > now ? next.at - now : this.#writeRate.take(next.task.urgency !== 'other', now);
      if (waitMs > 0) {
        this.#timer = clock.after(waitMs, () => this.#pump());
        return;
      }
      void this.#run(next.name, next.task);
    }
  }

  /** The most urgent write that may start; if there is none, the one that may start first. */
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
