import { ExpositionWriter, type MetricFamily, valueText } from '@kubus/metrics';

/** The initial and smallest size, in bytes. */
const LEAST = 16 * 1024;

/** The length in bytes of two numbers with their separators. */
const LONGEST_VALUE = 2 * String(Number.MAX_SAFE_INTEGER).length + 2;
const [ZERO, BLANK, NEWLINE] = [0x30, 0x20, 0x0a];

/**
 * The buffer in which the text of an exposition is written: a few megabytes for a full node, for each scrape. As a
 * string it would be garbage, and two scrapes would cause a full collection; here each text overwrites the one before.
 */
export class ExpositionBuffer {
  #bytes = Buffer.allocUnsafeSlow(LEAST);
  #length = 0;
  readonly #writer = new ExpositionWriter<Buffer>({
    encoded: (text) => Buffer.from(text),
    again: (part) => this.#again(part),
    text: (text) => this.#text(text),
    value: (value, timestampMs) => this.#value(value, timestampMs),
  });
  #last: Promise<unknown> = Promise.resolve();

  /** Calls `use` with the text of these families, which is valid until `use` has ended; calls run one after another. */
  use<T>(families: readonly MetricFamily[], use: (text: Buffer) => T | Promise<T>): Promise<T> {
    const used = this.#last.then(() => use(this.#written(families)));
    this.#last = used.catch(() => undefined);
    return used;
  }

  #written(families: readonly MetricFamily[]): Buffer {
    this.#length = 0;
    this.#writer.write(families);
    return this.#bytes.subarray(0, this.#length);
  }

  #again(part: Buffer): void {
    this.#reserve(part.length);
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
  }

  #text(text: string): void {
    // A character has at most three bytes.
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Most are whole numbers: their digits are written without creating a string. */
  #value(value: number, timestampMs: number | undefined): void {
    if (!isCount(value) || !isCount(timestampMs ?? 0)) {
      this.#text(valueText(value, timestampMs));
      return;
    }
    this.#reserve(LONGEST_VALUE);
    this.#digits(value);
    if (timestampMs !== undefined) {
      this.#bytes[this.#length++] = BLANK;
      this.#digits(timestampMs);
    }
    this.#bytes[this.#length++] = NEWLINE;
  }

  /** @param count a non-negative whole number */
  #digits(count: number): void {
    let end = this.#length + 1;
    for (let least = 10; count >= least; least *= 10) end += 1;
    let rest = count;
    for (let at = end - 1; at >= this.#length; at -= 1) {
      const tenth = Math.floor(rest / 10);
      this.#bytes[at] = ZERO + (rest - tenth * 10);
      rest = tenth;
    }
    this.#length = end;
  }

  #reserve(bytes: number): void {
    const least = this.#length + bytes;
    if (least <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(least, this.#bytes.length * 2));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
