const LINE_END = 0x0a;

/** The number of bytes of an incomplete line that are held back. */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * Splits a stream of bytes at line ends and puts a prefix before each line, so that the output of several containers does not mix within
 * a line. A line longer than 64 KiB is given out in parts.
 */
export class WholeLines {
  readonly #prefix: Buffer;
  #rest: Buffer = Buffer.alloc(0);
  /** Whether the next byte begins a line. */
  #atBegin = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Takes bytes, and returns those that can be printed now. */
  add(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(LINE_END) + 1;
    const cut = bytes.length - end > MAX_HELD_BYTES ? bytes.length : end;
    this.#rest = bytes.subarray(cut);
    return this.#show(bytes.subarray(0, cut));
  }

  /** Returns the rest at the end of the stream. */
  end(): Buffer {
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return this.#show(rest);
  }

  #show(bytes: Buffer): Buffer {
    if (this.#prefix.length === 0) return bytes;
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const next = bytes.indexOf(LINE_END, at);
      const end = next === -1 ? bytes.length : next + 1;
      if (this.#atBegin) parts.push(this.#prefix);
      parts.push(bytes.subarray(at, end));
      this.#atBegin = next !== -1;
      at = end;
    }
    return Buffer.concat(parts);
  }
}
