import { createGzip } from 'node:zlib';

/** A compressed text. */
export interface Compressed {
  readonly bytes: Buffer;
  /**
   * Gives the memory back at once, when nobody reads the bytes any more: left to the garbage collector, it makes that look
   * through the heap.
   */
  readonly release: () => void;
}

/** Bytes that there is room for at first, and at least: of so many a buffer has memory of its own. */
const LEAST = 64 * 1024;

/** How much longer than the last one a text may be. */
const SPARE = 1.25;

/**
 * Metrics say the same over and over within a few lines, so that a quick search of the last 8 KiB finds as much as one of the
 * last 32 does, in less time.
 */
const quickly = { level: 1, windowBits: 13 };

/** Compresses texts of which each one is about as long as the one before. */
export class Compression {
  #room = LEAST;

  async compress(text: Buffer): Promise<Compressed> {
    const gzip = createGzip({ ...quickly, chunkSize: this.#room });
    gzip.end(text);
    const pieces: Buffer<ArrayBuffer>[] = [];
    for await (const piece of gzip as AsyncIterable<Buffer<ArrayBuffer>>) pieces.push(piece);
    const { buffer, byteOffset, length } = inOne(pieces);
    this.#room = Math.max(LEAST, Math.ceil(length * SPARE));
    return { bytes: Buffer.from(buffer, byteOffset, length), release: () => void buffer.transfer(0) };
  }
}

/** Pieces that there was room for lie one after the other already. */
function inOne(pieces: readonly Buffer<ArrayBuffer>[]): Buffer<ArrayBuffer> {
  const [first] = pieces;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (first !== undefined && pieces.every(({ buffer }) => buffer === first.buffer)) {
    return Buffer.from(first.buffer, first.byteOffset, length);
  }
  const all = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) at += piece.copy(all, at);
  return all;
}
