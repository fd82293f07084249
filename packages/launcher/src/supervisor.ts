import type { Logger } from '@kubus/ports';
import { setTimeout as wait } from 'node:timers/promises';
import { isRunning } from './process-record.ts';
import type { StartedProcess } from './start-process.ts';

export interface SupervisorEvents {
  started(what: string, pid: number): void;
  ended(what: string, pid: number, status: string): void;
}

/** A process that lived this long was not failing at its start: it is started again at once. */
const SOUND_MS = 2_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

interface Kept {
  present: StartedProcess | undefined;
  readonly loop: Promise<void>;
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
  keep(what: string, start: () => Promise<StartedProcess>, first?: StartedProcess): void {
    const kept: Kept = { present: undefined, loop: this.#loop(what, start, first) };
    this.#kept.set(what, kept);
  }

  /** The pid of a kept process that runs now. */
  pid(what: string): number | undefined {
    return this.#kept.get(what)?.present?.record.pid;
  }

  /** Names of everything that is kept. */
  get names(): string[] {
    return [...this.#kept.keys()];
  }

  /** Ends a kept process by SIGTERM; it is started again. False when it does not run. */
  async restart(what: string): Promise<boolean> {
    const present = this.#kept.get(what)?.present;
    if (present === undefined || !(await isRunning(present.record))) return false;
    process.kill(present.record.pid, 'SIGTERM');
    return true;
  }

  /** Starts nothing any more. What runs goes on. */
  stop(): void {
    this.#stopped = true;
    this.#stopping.abort();
  }

  #onEnd(what: string, pid: number, status: string): void {
    if (this.#stopped) return;
    this.#events.ended(what, pid, status);
    this.#logger.warn({ process: what, pid, status }, 'a process of the node ended; starting it again');
  }

  async #loop(what: string, start: () => Promise<StartedProcess>, first?: StartedProcess): Promise<void> {
    const { signal } = this.#stopping;
    let next = first;
    let waitMs = 0;
    while (!this.#stopped) {
      const began = performance.now();
      try {
        const started = next ?? (await start());
        next = undefined;
        const { pid } = started.record;
        const kept = this.#kept.get(what);
        if (kept !== undefined) kept.present = started;
        this.#events.started(what, pid);
        const status = await started.exited;
        this.#onEnd(what, pid, status);
      } catch (error) {
        this.#logger.error({ process: what, err: error }, 'a process of the node can not be started');
      }
      const sound = performance.now() - began > SOUND_MS;
      waitMs = sound ? 0 : Math.min(Math.max(FIRST_WAIT_MS, waitMs * 2), LONGEST_WAIT_MS);
      if (waitMs > 0) await wait(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
