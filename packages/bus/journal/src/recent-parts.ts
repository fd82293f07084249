import type { WireMessage } from '@kubus/bus';
import type { Clock } from '@kubus/ports';

/** Parts that were sent within this time before a connection was lost may not have arrived, in milliseconds. */
const UNSURE_MS = 2_000;
/** Characters of parts that are kept for a new connection; older ones are dropped, and the journal then has a gap. */
const MOST_KEPT = 8 * 1024 * 1024;

interface Kept {
  readonly message: WireMessage;
  /** When it was sent; undefined: not yet. */
  readonly sentAt: number | undefined;
}

/** Sends the parts of a journal, and again those that may have been lost with a connection; readers recognize them by their numbers. */
export class RecentParts {
  readonly #clock: Clock;
  readonly #send: (message: WireMessage) => void;
  #kept: Kept[] = [];
  #size = 0;
  #connected = false;

  constructor(options: { clock: Clock; send: (message: WireMessage) => void }) {
    this.#clock = options.clock;
    this.#send = options.send;
  }

  add(message: WireMessage): void {
    this.#forget();
    this.#kept.push({ message, sentAt: this.#connected ? this.#clock.now() : undefined });
    this.#size += message.data.length;
    if (this.#connected) this.#send(message);
  }

  connection(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    if (!connected) {
      this.#forget();
      this.#kept = this.#kept.map(({ message }) => ({ message, sentAt: undefined }));
      return;
    }
    const now = this.#clock.now();
    this.#kept = this.#kept.map(({ message }) => {
      this.#send(message);
      return { message, sentAt: now };
    });
  }

  #forget(): void {
    const before = this.#clock.now() - UNSURE_MS;
    const isOld = ({ sentAt }: Kept) => this.#size > MOST_KEPT || (sentAt !== undefined && sentAt < before);
    let old = 0;
    for (const kept of this.#kept) {
      if (!isOld(kept)) break;
      this.#size -= kept.message.data.length;
      old += 1;
    }
    if (old > 0) this.#kept.splice(0, old);
  }
}
