import type { Followed } from './followed-set.ts';
import type { ApiReader } from './api-reader.ts';
import { poll } from './poll.ts';

export interface PolledOptions<Fact> {
  /** Reads how it stands, given what is known of it. What is known goes on counting when this rejects. */
  readonly read: (known: Fact | undefined, signal: AbortSignal) => Promise<Fact>;
  /** Whether nothing is to come soon any more. */
  readonly isSettled: (fact: Fact) => boolean;
  /** Called with why it could not be read. */
  readonly failed: (error: unknown) => void;
  /** Called when it is known how it stands, and each time when that is different. */
  readonly changed: () => void;
}

/** One thing of the API server that a node may get by name, and neither list nor watch: it is read again and again. */
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
    if (JSON.stringify(fact) === JSON.stringify(this.#fact)) return;
    this.#fact = fact;
    this.#options.changed();
  }
}
