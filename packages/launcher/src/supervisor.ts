import type { Logger } from '@kubus/ports';
import { setTimeout as wait } from 'node:timers/promises';

/** A process that runs, wherever that is. */
export interface SupervisedProcess {
  readonly pid: number;
  /** Resolves when it has ended, to `code 1` or `SIGKILL`. */
  readonly exited: Promise<string>;
  /** False when it does not run any more. */
  readonly signal: (signal: NodeJS.Signals) => Promise<boolean>;
  /** Ends it by SIGTERM, and by SIGKILL when it takes longer than `graceMs`; resolves when it has ended. */
  readonly end: (graceMs: number) => Promise<void>;
}

export interface SupervisorEvents {
  started(what: string, pid: number): void;
  ended(what: string, pid: number, status: string): void;
}

/** A process that lived this long was not failing at its start: it is started again at once. */
const SOUND_MS = 2_000;
/** How long a process that is let go may take to end in order. */
const GRACE_MS = 2_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

interface Kept {
  present: SupervisedProcess | undefined;
  /** Set while somebody else runs it: no process of it is started before this resolves. */
  elsewhere: PromiseWithResolvers<void> | undefined;
  /** Nobody is to run it any more. */
  dropped: boolean;
  /** Resolves when the present process, or the one that is just being started, has ended. */
  turn: Promise<undefined>;
}

/** Keeps processes running: one that ends is started again, at once unless it fails again and again. */
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

  /** Starts `what` and keeps it running. `first` is a process of it that runs already. */
  keep(what: string, start: () => Promise<SupervisedProcess>, first?: SupervisedProcess): void {
    const kept: Kept = { present: undefined, elsewhere: undefined, dropped: false, turn: Promise.resolve(undefined) };
    this.#kept.set(what, kept);
    void this.#loop(what, kept, start, first);
  }

  /** Knows `what` as {@link keep} does, but leaves it to somebody else until {@link takeBack}. */
  know(what: string, start: () => Promise<SupervisedProcess>): void {
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
   * Leaves `what` to somebody else: ends its process by SIGTERM and starts none until {@link takeBack}. Resolves when it
   * has ended, so that its slot is free. Harmless to repeat.
   */
  async letGo(what: string): Promise<void> {
    const kept = this.#kept.get(what);
    if (kept === undefined) return;
    kept.elsewhere ??= Promise.withResolvers();
    if (kept.present !== undefined) await kept.present.end(GRACE_MS);
    await kept.turn;
  }

  /** Runs `what` again after {@link letGo}. */
  takeBack(what: string): void {
    const kept = this.#kept.get(what);
    kept?.elsewhere?.resolve();
    if (kept !== undefined) kept.elsewhere = undefined;
  }

  /** Ends `what` in order and for good. Resolves when it has ended. */
  async drop(what: string): Promise<void> {
    const kept = this.#kept.get(what);
    if (kept === undefined) return;
    await this.letGo(what);
    kept.dropped = true;
    this.takeBack(what);
    this.#kept.delete(what);
  }

  /** The pid of a kept process that runs now. */
  pid(what: string): number | undefined {
    return this.#kept.get(what)?.present?.pid;
  }

  /** Names of everything that is kept. */
  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /** Ends a kept process by SIGTERM; it is started again. False when it does not run. */
  async restart(what: string): Promise<boolean> {
    return (await this.signal(what, 'SIGTERM')) !== undefined;
  }

  /** Sends a signal to a kept process. Gives its pid; undefined when it does not run. */
  async signal(what: string, signal: NodeJS.Signals): Promise<number | undefined> {
    const present = this.#kept.get(what)?.present;
    return (await present?.signal(signal)) === true ? present?.pid : undefined;
  }

  /** Starts nothing any more. What runs goes on. */
  stop(): void {
    this.#stopped = true;
    this.#stopping.abort();
  }

  #onEnd(what: string, { elsewhere }: Kept, pid: number, status: string): void {
    if (this.#stopped) return;
    this.#events.ended(what, pid, status);
    if (elsewhere !== undefined)
      this.#logger.info({ process: what, pid, status }, 'a process is left to somebody else');
    else this.#logger.warn({ process: what, pid, status }, 'a process of the node ended; starting it again');
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
        const { pid } = started;
        kept.present = started;
        this.#events.started(what, pid);
        // Let go of while it was being started.
        if (isElsewhere(kept)) await started.end(GRACE_MS);
        const status = await started.exited;
        this.#onEnd(what, kept, pid, status);
      } catch (error) {
        this.#logger.error({ process: what, err: error }, 'a process of the node can not be started');
      }
      turn.resolve(undefined);
      const sound = performance.now() - began > SOUND_MS;
      waitMs = sound ? 0 : Math.min(Math.max(FIRST_WAIT_MS, waitMs * 2), LONGEST_WAIT_MS);
      if (waitMs > 0) await wait(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Asked anew, since it may change while something is awaited. */
function isElsewhere({ elsewhere }: Kept): boolean {
  return elsewhere !== undefined;
}
