import { isDeepEqual } from '@kubus/pod';
import type { Followed } from './followed-set.ts';
import type { ApiReader } from './api-reader.ts';
import { poll } from './poll.ts';

export interface PolledOptions<Fact> {
  /** Reads the state, given the known one, which stays valid when this rejects. */
  readonly read: (known: Fact | undefined, signal: AbortSignal) => Promise<Fact>;
  /** Whether no change is expected soon. */
  readonly isSettled: (fact: Fact) => boolean;
  /** Called when reading has failed. */
  readonly failed: (error: unknown) => void;
  /** Called when the state becomes known and after each change. */
  readonly changed: () => void;
}

/** One object of the API server that a node may get by name, but neither list nor watch: it is polled. */
export class Polled<Fact> implements Followed<Fact> {
  readonly #options: PolledOptions<Fact>;
  readonly #end: () => void;
  #fact: Fact | undefined;

  constructor(reader: Pick<ApiReader, 'clock' | 'random'>, options: PolledOptions<Fact>) {
    this.#options = options;
    this.#end = poll(reader, (signal) => this.#look(signal));
  }

  get fact(): Fact | undefined {
    return this.#fact;
  }

  stop(): void {
    this.#end();
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    const { read, isSettled, failed } = this.#options;
    try {
      const fact = await read(this.#fact, signal);
      if (!signal.aborted) this.#set(fact);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
    return this.#fact !== undefined && isSettled(this.#fact);
  }

  #set(fact: Fact): void {
    if (isDeepEqual(fact, this.#fact)) return;
    this.#fact = fact;
    this.#options.changed();
  }
}
