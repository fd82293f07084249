import type { Bus, Cause, FactOwner } from '@kubus/bus';
import { type NodePressure, type PressureCondition, READINGS_MOST, nodePressure } from '@kubus/contracts';
import {
  type Observations,
  type PressureState,
  type Threshold,
  assess,
  noPressure,
  thresholdsMet,
  withContainerFs,
} from '@kubus/eviction';
import type { SignalReading } from '@kubus/node-usage';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { Eviction, Need } from './eviction.ts';

/** How often the signals are read, in milliseconds (behaviour:eviction, loop), and the least time between two readings that are asked for. */
const EVERY_MS = 10_000;
const LEAST_MS = 1_000;

export interface PressureWatchOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  readonly read: () => Promise<SignalReading>;
  /** Called when the conditions have changed. */
  readonly changed: () => void;
  /** Reclaims what is missing. Resolves with whether a pod was evicted, after which the signals are read again at once. */
  readonly relieve: (need: Need) => Promise<boolean>;
  /** Called with each reading and the thresholds of the node: what to wait for until the next one. */
  readonly waitFor?: ((reading: Observations, thresholds: readonly Threshold[]) => void) | undefined;
  /** The same for pods that exceed what they may use of the disk. Omitted: their limits are not enforced. */
  readonly enforceLimits?: Eviction['enforceLimits'] | undefined;
}

/** What a {@link PressureWatch} knows. */
export interface PressureView {
  /** The newest last; never empty. */
  readonly readings: readonly SignalReading[];
  readonly thresholds: readonly Threshold[];
  readonly state: PressureState;
  readonly conditions: readonly PressureCondition[];
}

/** Watches what the node is short of, publishes it, and has it relieved (behaviour:eviction). */
export class PressureWatch {
  readonly #options: PressureWatchOptions;
  readonly #fact: FactOwner<NodePressure>;
  readonly #stopping = new AbortController();
  #thresholds: readonly Threshold[];
  #state = noPressure;
  #readings: readonly SignalReading[] = [];
  /** When the last one was kept. */
  #readAt = 0;
  #conditions: readonly PressureCondition[] | undefined;
  /** No container of a pod that has ended is to be kept. */
  #removesEnded = false;
  #cause: Cause | undefined;
  #isDue = false;
  #wake: () => void = () => undefined;
  /** Thresholds of which the signal could not be read. */
  #unread = '';

  constructor(options: PressureWatchOptions) {
    this.#options = options;
    this.#thresholds = options.thresholds;
    this.#fact = options.bus.owner(nodePressure);
    void this.#run();
  }

  /** As it is in the status of the Node object. */
  get pressure(): { readonly memory: boolean; readonly disk: boolean; readonly pid: boolean } {
    const has = (condition: PressureCondition) => this.#conditions?.includes(condition) === true;
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  /** What is known of the signals. A node without thresholds reads them only when it is asked, and remembers these readings. */
  async view(): Promise<PressureView> {
    const { thresholds, read, clock } = this.#options;
    const isDue = this.#readings.length === 0 || (thresholds.length === 0 && clock.now() - this.#readAt >= LEAST_MS);
    if (isDue) this.#keep(await read());
    const readings = this.#readings;
    return { readings, thresholds: this.#thresholds, state: this.#state, conditions: this.#conditions ?? [] };
  }

  #keep(reading: SignalReading): void {
    this.#readAt = this.#options.clock.now();
    this.#readings = [...this.#readings, reading].slice(-READINGS_MOST);
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Memory has become short: the signals are read now, or a second after the last time. */
  look(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Until the next reading. */
  async #rest(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    await sleep(clock, LEAST_MS, signal);
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#isDue) await sleep(clock, EVERY_MS - LEAST_MS, AbortSignal.any([signal, woken.signal]));
    this.#wake = () => undefined;
    this.#isDue = false;
  }

  async #run(): Promise<void> {
    const { logger, thresholds, enforceLimits } = this.#options;
    const { signal } = this.#stopping;
    if (thresholds.length === 0) this.#publish([]);
    const isIdle = thresholds.length === 0 && enforceLimits === undefined;
    while (!isIdle && !signal.aborted) {
      try {
        if (await this.#pass()) continue;
      } catch (error) {
        logger.error({ err: toError(error) }, 'Eviction manager: failed to synchronize');
      }
      await this.#rest();
    }
  }

  /** True when the next one is to follow at once. */
  async #pass(): Promise<boolean> {
    const { thresholds, read, enforceLimits, waitFor } = this.#options;
    const { signal } = this.#stopping;
    if (thresholds.length === 0) return (await enforceLimits?.(async () => (await read()).disks, signal)) === true;
    const reading = await read();
    this.#keep(reading);
    const assessed = this.#assess(reading);
    waitFor?.(reading.observations, thresholds);
    if ((await enforceLimits?.(() => Promise.resolve(reading.disks), signal)) === true) return true;
    return this.#relieve(reading, assessed);
  }

  /** Returns the thresholds that are due. */
  #assess({ observations, disks }: SignalReading): readonly Threshold[] {
    const { clock, transitionMs } = this.#options;
    if (disks !== undefined) this.#fit(withContainerFs(this.#options.thresholds, disks));
    this.#noteUnread(this.#thresholds.filter((one) => observations[one.signal] === undefined));
    const { state, conditions, due } = assess(this.#state, {
      ...{ thresholds: this.#thresholds, observations, transitionMs, now: clock.now() },
    });
    this.#state = state;
    this.#publish(conditions);
    return due;
  }

  async #relieve({ observations, disks }: SignalReading, due: readonly Threshold[]): Promise<boolean> {
    const { read } = this.#options;
    if (due.length === 0 || this.#cause === undefined) return false;
    return this.#options.relieve({
      ...{ due, observations, disks: disks ?? 'one', cause: this.#cause, signal: this.#stopping.signal },
      withoutEnded: (removed) => this.#withoutEnded(removed),
      look: async () => {
        const { observations: present } = await read();
        return { observations: present, isMet: this.#isMet(present) };
      },
    });
  }

  async #withoutEnded(removed: () => Promise<void>): Promise<void> {
    const say = (removesEnded: boolean) => {
      this.#removesEnded = removesEnded;
      this.#put(this.#conditions ?? []);
    };
    say(true);
    try {
      await removed();
    } finally {
      say(false);
    }
  }

  /** Without grace periods, so that what has just been removed is not followed by a pod. */
  #isMet(observations: Observations): boolean {
    return thresholdsMet(this.#thresholds, observations, true).length > 0;
  }

  #fit({ thresholds, ignored }: ReturnType<typeof withContainerFs>): void {
    const isFirst = this.#thresholds === this.#options.thresholds;
    this.#thresholds = thresholds;
    if (isFirst) for (const text of ignored) this.#options.logger.warn({}, text);
  }

  /** Each set of signals is logged once. */
  #noteUnread(thresholds: readonly Threshold[]): void {
    const signals = [...new Set(thresholds.map(({ signal }) => signal))].join(', ');
    if (signals !== '' && signals !== this.#unread) {
      this.#options.logger.warn({ signals }, 'Eviction manager: no observation found for eviction signal');
    }
    this.#unread = signals;
  }

  #put(conditions: readonly PressureCondition[]): void {
    const removesEnded = this.#removesEnded && { removesEnded: true };
    this.#cause = this.#fact.put(this.#options.bus.node, { conditions: [...conditions], ...removesEnded });
  }

  #publish(conditions: readonly PressureCondition[]): void {
    const { changed, logger } = this.#options;
    const before = this.#conditions;
    const isFirst = before === undefined;
    if (before?.join() === conditions.join()) return;
    if (conditions.length > 0 || !isFirst) logger.info({ conditions }, 'what the node is short of has changed');
    this.#conditions = conditions;
    this.#put(conditions);
    if (isFirst) this.#fact.complete();
    changed();
  }
}
