import { HEADER, type StoredMessage } from '@kubus/bus';
import { serviceOf } from '@kubus/causality';
import type { LiveTick } from '@kubus/contracts/observatory';
import type { Clock } from '@kubus/ports';

/** How often ticks are sent to listeners, in milliseconds. */
const TICK_MS = 500;

/** Sends what has been recorded since the last tick. Counts nothing while there is no listener. */
export class LiveTicks {
  readonly #clock: Clock;
  readonly #listeners = new Set<(tick: LiveTick) => void>();
  #counts = new Map<string, number>();
  #pods = new Set<string>();
  #seq = 0;
  #since = 0;
  #timer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(messages: readonly StoredMessage[]): void {
    this.#seq = messages.at(-1)?.seq ?? this.#seq;
    if (this.#listeners.size === 0) return;
    for (const { message } of messages) {
      const { [HEADER.source]: source, [HEADER.pod]: pod } = message.headers;
      if (source !== undefined) this.#counts.set(serviceOf(source), (this.#counts.get(serviceOf(source)) ?? 0) + 1);
      if (pod !== undefined) this.#pods.add(pod);
    }
  }

  follow(listener: (tick: LiveTick) => void): () => void {
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.#begin();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  stop(): void {
    this.#listeners.clear();
    this.#timer?.();
  }

  #begin(): void {
    this.#counts = new Map();
    this.#pods = new Set();
    this.#since = this.#clock.now();
    this.#timer = this.#clock.after(TICK_MS, () => {
      this.#timer = undefined;
      if (this.#listeners.size === 0) return;
      const at = this.#clock.now();
      const seconds = Math.max(at - this.#since, 1) / 1000;
      const rates = Object.fromEntries([...this.#counts].map(([service, count]) => [service, count / seconds]));
      const tick = { at, seq: this.#seq, rates, pods: [...this.#pods] };
      this.#begin();
      for (const listener of [...this.#listeners]) listener(tick);
    });
  }
}
