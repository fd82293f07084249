import { type Bus, type FactOwner, formatTime } from '@kubus/bus';
import { nodeShutdown, shutdownProgress } from '@kubus/contracts';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { NodeEvents } from '@kubus/service-kit';
import type { Held, Logind } from './logind.ts';
import type { ShutdownTimes } from './shutdown-times.ts';

/** How long after a failure, or after logind was lost, the machine's shutdowns are watched again, in milliseconds. */
const AGAIN_MS = 1_000;
/** How often and how long it is asked whether logind waits longer, as the reference asks: the first pause, in milliseconds. */
const RAISED_MS = 100;
const RAISED_TRIES = 5;
/** How much longer than all periods the pods' end may take before the machine shuts down without it, in milliseconds. */
const SPARE_MS = 5_000;

export interface ShutdownManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logind: Logind;
  readonly events: NodeEvents;
  /** How long all pods together may take, in milliseconds. */
  readonly totalMs: number;
  /** Undefined: times are not kept. */
  readonly times: ShutdownTimes | undefined;
  /** Called when the node's readiness has changed. */
  readonly changed: () => void;
}

/**
 * Delays a shutdown of the machine until the node's pods have ended (KEP-2000; behaviour:node-shutdown): holds logind's inhibitor lock,
 * publishes the shutdown to the sync loop and the cluster, and releases the lock when all pods have ended or have exceeded their grace
 * periods. After a cancelled shutdown another lock is taken.
 */
export class ShutdownManager {
  readonly #options: ShutdownManagerOptions;
  readonly #fact: FactOwner<{ active: boolean; since: string }>;
  readonly #stopping = new AbortController();
  #lock: Held | undefined;
  #watch: Held | undefined;
  /** Since when the machine is shutting down; undefined: it is not. */
  #since: string | undefined;
  /** Resolves when the sync loop is done with the present shutdown. */
  #done = Promise.withResolvers<undefined>();

  constructor(options: ShutdownManagerOptions) {
    const { bus } = options;
    this.#options = options;
    this.#fact = bus.owner(nodeShutdown);
    bus.reader(shutdownProgress, {
      changed: ({ value }) => {
        if (value.done && value.since === this.#since) this.#done.resolve(undefined);
      },
    });
    void this.#run();
  }

  /** Why the node is not ready, in the reference's words; undefined: not because of a shutdown. */
  get problem(): string | undefined {
    return this.#since === undefined ? undefined : 'node is shutting down';
  }

  stop(): void {
    this.#stopping.abort();
    this.#watch?.release();
    this.#lock?.release();
  }

  /** A function, since the value may change during an await. */
  #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stopping;
    await this.#options.times?.load();
    await this.#publishPresent();
    while (!this.#isStopped()) {
      try {
        await this.#follow();
        if (!this.#isStopped()) logger.warn({}, 'Ended to watching the node for shutdown events');
      } catch (error) {
        logger.error({ err: toError(error) }, 'Unable to watch the node for shutdown events');
      }
      await sleep(clock, AGAIN_MS, signal);
    }
  }

  /** What is true at the start: an earlier process may have been ended in the middle of a shutdown. */
  async #publishPresent(): Promise<void> {
    const { bus, clock, logger, logind } = this.#options;
    const active = await logind.isShuttingDown().catch((error: unknown) => {
      logger.error({ err: toError(error) }, 'cannot ask whether the machine is shutting down');
      return false;
    });
    const since = formatTime(clock.now());
    if (active) this.#since = since;
    this.#fact.put(bus.node, { active, since });
    this.#fact.complete();
    if (active) this.#options.changed();
  }

  /** Holds the lock and follows shutdowns until logind is lost. */
  async #follow(): Promise<void> {
    const { logind, totalMs } = this.#options;
    if (totalMs > (await logind.delayMs())) await this.#raiseDelay();
    if (this.#isStopped()) return;
    const watch = await logind.watch((active) => this.#onShutdown(active));
    this.#watch = watch;
    try {
      if (this.#since === undefined) await this.#acquire();
      if (this.#isStopped()) this.stop();
      await watch.ended;
    } finally {
      watch.release();
      // Another lock is taken when it is watched again.
      if (this.#since === undefined) this.#lock?.release();
    }
  }

  /** The change takes effect some time after it was asked for. */
  async #raiseDelay(): Promise<void> {
    const { clock, logind, totalMs } = this.#options;
    await logind.raiseDelay(totalMs);
    let delayMs = 0;
    for (let attempt = 0; attempt < RAISED_TRIES; attempt++) {
      if (attempt > 0) await sleep(clock, RAISED_MS * 2 ** (attempt - 1), this.#stopping.signal);
      delayMs = await logind.delayMs();
      if (delayMs >= totalMs) return;
    }
    throw new Error(
      `node shutdown manager was timed out after ${RAISED_TRIES} attempts waiting for logind InhibitDelayMaxSec to update to ${totalMs / 1000}s (ShutdownGracePeriod), current value is ${delayMs / 1000}s`,
    );
  }

  async #acquire(): Promise<void> {
    const lock = await this.#options.logind.inhibit();
    this.#lock?.release();
    this.#lock = lock;
    // It was stopped while it waited for the lock.
    if (this.#isStopped()) lock.release();
  }

  #onShutdown(active: boolean): void {
    const { bus, clock, events, logger, changed } = this.#options;
    const since = formatTime(clock.now());
    const what = active ? 'event' : 'cancellation';
    logger.info({ active }, 'Shutdown manager detected new shutdown event');
    const cause = events.record(
      { type: 'Normal', reason: 'Shutdown', message: `Shutdown manager detected shutdown ${what}` },
      [],
    );
    if (active && this.#since !== undefined) return;
    this.#since = active ? since : undefined;
    this.#done = Promise.withResolvers();
    this.#fact.put(bus.node, { active, since }, { causes: cause === undefined ? [] : [cause] });
    changed();
    if (active) void this.#awaitPods(since);
    else {
      this.#acquire().catch((error: unknown) => {
        logger.error({ err: toError(error) }, 'cannot delay the next shutdown');
      });
    }
  }

  async #awaitPods(since: string): Promise<void> {
    const { clock, logger, times, totalMs } = this.#options;
    const done = new AbortController();
    await times?.began(since);
    const spent = sleep(clock, totalMs + SPARE_MS, done.signal);
    await Promise.race([this.#done.promise, spent]);
    done.abort();
    if (this.#since !== since) return;
    await times?.ended(formatTime(clock.now()));
    logger.info({}, 'Shutdown manager completed processing shutdown event, node will shutdown shortly');
    this.#lock?.release();
  }
}
