import { createGzip } from 'node:zlib';

/** A compressed text. */
export interface Compressed {
  readonly bytes: Buffer;
  /**
   * Frees the memory at once, when the bytes are not read any more: left to the garbage collector, it would cause full
   * collections.
   */
  readonly release: () => void;
}

/** The initial and smallest size in bytes: a buffer of this size has memory of its own. */
const LEAST = 64 * 1024;

/** How much longer than the previous text a text may be. */
const SPARE = 1.25;

/**
 * Metrics repeat themselves within a few lines, so that a fast search of the last 8 KiB finds as much as one of the
 * last 32 does, in less time.
 */
const quickly = { level: 1, windowBits: 13 };

/** Compresses texts, each about as long as the one before. */
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

/** Pieces that fitted into the buffer are already contiguous. */
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
