import { type MetricFamily, writeExposition } from '@kubus/metrics';

/** Bytes that are there at first, and that are kept. */
const LEAST = 16 * 1024;

/**
 * Where the text of an exposition is made: a few megabytes for a full node, each time anew. As a string it would be garbage of which
 * two scrapes make the whole heap be looked through; here it is written over the one before.
 */
export class ExpositionBuffer {
  #bytes = Buffer.allocUnsafeSlow(LEAST);
  #last: Promise<unknown> = Promise.resolve();

  /** What `use` makes of the text of these families, which is there until that has ended; one after the other. */
  use<T>(families: readonly MetricFamily[], use: (text: Buffer) => T | Promise<T>): Promise<T> {
    const used = this.#last.then(() => use(this.#written(families)));
    this.#last = used.catch(() => undefined);
    return used;
  }

  #written(families: readonly MetricFamily[]): Buffer {
    let length = 0;
    const known = new Map<string, Buffer>();
    writeExposition(families, (part, again) => {
      // A character is three bytes at most.
      if (length + part.length * 3 > this.#bytes.length) this.#grow(length + part.length * 3);
      if (again === undefined) {
        length += this.#bytes.write(part, length);
        return;
      }
      let bytes = known.get(part);
      if (bytes === undefined) known.set(part, (bytes = Buffer.from(part)));
      this.#bytes.set(bytes, length);
      length += bytes.length;
    });
    return this.#bytes.subarray(0, length);
  }

  #grow(least: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(least, this.#bytes.length * 2));
    this.#bytes.copy(bytes);
    this.#bytes = bytes;
  }
}
