const LINE_END = 0x0a;

/** A line that is not over yet is held back up to so many bytes. */
const LONGEST = 64 * 1024;

/**
 * Gives bytes out in whole lines, so that those of several containers do not mix within a line; before each line a prefix.
 * A line that is longer than 64 KiB comes in pieces.
 */
export class WholeLines {
  readonly #prefix: Buffer;
  #rest: Buffer = Buffer.alloc(0);
  /** The next byte begins a line. */
  #atBegin = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** What can be given out after these bytes have come. */
  add(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(LINE_END) + 1;
    const cut = bytes.length - end > LONGEST ? bytes.length : end;
    this.#rest = bytes.subarray(cut);
    return this.#show(bytes.subarray(0, cut));
  }

  /** What is left when nothing more comes. */
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
