import type { Bus, FactOwner } from '@kubus/bus';
import { type NodePressure, type PressureCondition, nodePressure } from '@kubus/contracts';
import { type Threshold, assess, noPressure, withContainerFs } from '@kubus/eviction';
import type { SignalReading } from '@kubus/node-usage';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';

/** How often the signals are read, in milliseconds (behaviour:eviction, loop). */
const EVERY_MS = 10_000;

export interface PressureWatchOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  readonly read: () => Promise<SignalReading>;
  /** Called when the conditions have changed. */
  readonly changed: () => void;
}

/** Watches what the node is short of, and publishes it (behaviour:eviction). */
export class PressureWatch {
  readonly #options: PressureWatchOptions;
  readonly #fact: FactOwner<NodePressure>;
  readonly #stopping = new AbortController();
  #thresholds: readonly Threshold[];
  #state = noPressure;
  #conditions: readonly PressureCondition[] | undefined;
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

  stop(): void {
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    const { clock, logger, thresholds } = this.#options;
    const { signal } = this.#stopping;
    if (thresholds.length === 0) this.#publish([]);
    while (thresholds.length > 0 && !signal.aborted) {
      try {
        await this.#pass();
      } catch (error) {
        logger.error({ err: toError(error) }, 'Eviction manager: failed to synchronize');
      }
      await sleep(clock, EVERY_MS, signal);
    }
  }

  async #pass(): Promise<void> {
    const { clock, read, transitionMs } = this.#options;
    const { observations, disks } = await read();
    if (disks !== undefined) this.#fit(withContainerFs(this.#options.thresholds, disks));
    this.#noteUnread(this.#thresholds.filter((one) => observations[one.signal] === undefined));
    const { state, conditions } = assess(this.#state, {
      ...{ thresholds: this.#thresholds, observations, transitionMs, now: clock.now() },
    });
    this.#state = state;
    this.#publish(conditions);
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

  #publish(conditions: readonly PressureCondition[]): void {
    const { bus, changed, logger } = this.#options;
    const before = this.#conditions;
    const isFirst = before === undefined;
    if (before?.join() === conditions.join()) return;
    if (conditions.length > 0 || !isFirst) logger.info({ conditions }, 'what the node is short of has changed');
    this.#conditions = conditions;
    this.#fact.put(bus.node, { conditions: [...conditions] });
    if (isFirst) this.#fact.complete();
    changed();
  }
}
