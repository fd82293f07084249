import type { ServiceName } from '@kubus/contracts';
import { type Logger, toError } from '@kubus/ports';
import { setTimeout as wait } from 'node:timers/promises';

/** A running process, of this machine or of a container. */
export interface SupervisedProcess {
  readonly pid: number;
  /** Resolves when it has ended, to its status, such as `code 1` or `SIGKILL`. */
  readonly exited: Promise<string>;
  /** Sends a signal; false when the process is not running any more. */
  readonly signal: (signal: NodeJS.Signals) => Promise<boolean>;
  /** Ends it with SIGTERM, and SIGKILL after `graceMs` milliseconds; resolves when it has ended. */
  readonly end: (graceMs: number) => Promise<void>;
  /**
   * Of a process with several services: has it run all of them but these. Resolves when it does, or has ended.
   */
  readonly setElsewhere?: ((services: readonly ServiceName[]) => Promise<void>) | undefined;
}

/** Called when a process has started or ended. */
export interface SupervisorEvents {
  started(what: string, pid: number): void;
  ended(what: string, pid: number, status: string): void;
}

/** A process that lived longer than this is restarted at once; one that lived shorter, after a back-off. In milliseconds. */
const STABLE_MS = 2_000;
/** Grace period of a released process, in milliseconds. */
const GRACE_MS = 2_000;
/** Grace period of a process that is restarted: long enough for what it has begun. In milliseconds. */
const RESTART_GRACE_MS = 10_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

interface Kept {
  present: SupervisedProcess | undefined;
  /** Set while the process is released: it is not started before this resolves. */
  elsewhere: PromiseWithResolvers<void> | undefined;
  /** Set when the process is not to be started any more. */
  dropped: boolean;
  /** Resolves when the current process, or the one that is being started, has ended. */
  turn: Promise<undefined>;
}

/** Keeps processes running: restarts each that ends, at once unless it keeps failing. */
export class Supervisor {
  readonly #events: SupervisorEvents;
  readonly #logger: Logger;
  readonly #kept = new Map<string, Kept>();
  readonly #stopping = new AbortController();
  #stopped = false;

  constructor(options: { events: SupervisorEvents; logger: Logger }) {
    this.#events = options.events;
    this.#logger = options.logger;
  }

  /** Starts `what` and keeps it running. `first` is its process when it is already running. */
  keep(what: string, start: () => Promise<SupervisedProcess>, first?: SupervisedProcess): void {
    const kept: Kept = { present: undefined, elsewhere: undefined, dropped: false, turn: Promise.resolve(undefined) };
    this.#kept.set(what, kept);
    void this.#loop(what, kept, start, first);
  }

  /** As {@link keep}, but released from the beginning: nothing is started before {@link takeBack}. */
  keepReleased(what: string, start: () => Promise<SupervisedProcess>): void {
    const kept: Kept = {
      present: undefined,
      elsewhere: Promise.withResolvers(),
      dropped: false,
      turn: Promise.resolve(undefined),
    };
    this.#kept.set(what, kept);
    void this.#loop(what, kept, start);
  }

  /**
   * Ends the process with SIGTERM and does not start it again until {@link takeBack}. Resolves when it has ended, so that its slot is
   * free for another program. Harmless to repeat.
   */
  async release(what: string): Promise<void> {
    const kept = this.#kept.get(what);
    if (kept === undefined) return;
    kept.elsewhere ??= Promise.withResolvers();
    if (kept.present !== undefined) await kept.present.end(GRACE_MS);
    await kept.turn;
  }

  /** Runs `what` again after {@link release}. */
  takeBack(what: string): void {
    const kept = this.#kept.get(what);
    kept?.elsewhere?.resolve();
    if (kept !== undefined) kept.elsewhere = undefined;
  }

  /** Ends `what` for good. Resolves when it has ended. */
  async drop(what: string): Promise<void> {
    const kept = this.#kept.get(what);
    if (kept === undefined) return;
    await this.release(what);
    kept.dropped = true;
    this.takeBack(what);
    this.#kept.delete(what);
  }

  /** The pid of a process; undefined when it is not running. */
  pid(what: string): number | undefined {
    return this.#kept.get(what)?.present?.pid;
  }

  /** The names of all processes. */
  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /**
   * Ends a process with SIGTERM, and with SIGKILL when it is still running `graceMs` milliseconds later; it is then restarted. Resolves
   * when the first signal is sent, to false when it is not running.
   */
  async restart(what: string, graceMs = RESTART_GRACE_MS): Promise<boolean> {
    const present = this.#kept.get(what)?.present;
    if (present === undefined || !(await present.signal('SIGTERM'))) return false;
    // A stopped process handles SIGTERM only when it goes on.
    await present.signal('SIGCONT');
    void this.#killAfter(what, present, graceMs);
    return true;
  }

  async #killAfter(what: string, { pid, exited, signal }: SupervisedProcess, graceMs: number): Promise<void> {
    const over = new AbortController();
    const late = wait(graceMs, true, { signal: AbortSignal.any([over.signal, this.#stopping.signal]) });
    const isLate = await Promise.race([exited.then(() => false), late.catch(() => false)]);
    over.abort();
    if (isLate && (await signal('SIGKILL'))) {
      this.#logger.warn({ process: what, pid, graceMs }, 'process did not end in its grace period; killed');
    }
  }

  /** Sends a signal to a process. Returns its pid; undefined when it is not running. */
  async signal(what: string, signal: NodeJS.Signals): Promise<number | undefined> {
    const present = this.#kept.get(what)?.present;
    return (await present?.signal(signal)) === true ? present?.pid : undefined;
  }

  /** See {@link SupervisedProcess.setElsewhere}; a process that is not running is started with them. */
  async setElsewhere(what: string, services: readonly ServiceName[]): Promise<void> {
    await this.#kept.get(what)?.present?.setElsewhere?.(services);
  }

  /** Starts no more processes. Running ones keep running. */
  stop(): void {
    this.#stopped = true;
    this.#stopping.abort();
  }

  #onEnd(what: string, { elsewhere }: Kept, pid: number, status: string): void {
    if (this.#stopped) return;
    this.#events.ended(what, pid, status);
    if (elsewhere !== undefined)
      this.#logger.info({ process: what, pid, status }, 'process ended; not restarted, since the user runs it');
    else this.#logger.warn({ process: what, pid, status }, 'process ended; restarting it');
  }

  async #loop(
    what: string,
    kept: Kept,
    start: () => Promise<SupervisedProcess>,
    first?: SupervisedProcess,
  ): Promise<void> {
    const { signal } = this.#stopping;
    let next = first;
    let waitMs = 0;
    /** Why it could not be started the last time: said once. */
    let problem: string | undefined;
    while (!this.#stopped && !kept.dropped) {
      if (kept.elsewhere !== undefined) {
        waitMs = 0;
        await kept.elsewhere.promise;
        continue;
      }
      const began = performance.now();
      const turn = Promise.withResolvers<undefined>();
      kept.turn = turn.promise;
      try {
        const started = next ?? (await start());
        next = undefined;
        problem = undefined;
        const { pid } = started;
        kept.present = started;
        this.#events.started(what, pid);
        // Released while it was being started.
        if (isElsewhere(kept)) await started.end(GRACE_MS);
        const status = await started.exited;
        this.#onEnd(what, kept, pid, status);
      } catch (error) {
        const { message } = toError(error);
        if (message !== problem) {
          this.#logger.error({ process: what, err: error }, 'cannot start a process; trying again until it can be');
        }
        problem = message;
      }
      turn.resolve(undefined);
      const stable = performance.now() - began > STABLE_MS;
      waitMs = stable ? 0 : Math.min(Math.max(FIRST_WAIT_MS, waitMs * 2), LONGEST_WAIT_MS);
      if (waitMs > 0) await wait(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** A function, since the value may change during an await. */
function isElsewhere({ elsewhere }: Kept): boolean {
  return elsewhere !== undefined;
}
