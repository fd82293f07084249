import type { Duplex } from 'node:stream';

/** Bytes that may wait for a side that takes them slowly; with more, nothing is read for it. */
const MOST_WAITING = 128 * 1024;

/**
 * Passes what comes over a connection on to another one, as fast as that takes it; its end is not passed on. Memory of what
 * has been written is given back at once: left to the garbage collector, all of the heap is looked through for every
 * few dozen MiB that pass, which takes longer than passing them.
 *
 * @param passing is called with each piece
 *
 * Returns what stops it: from then on all that comes is dropped.
 */
export function passOn(from: Duplex, to: Duplex, passing: () => void): () => void {
  let waits = false;
  const pass = (piece: Buffer<ArrayBuffer>) => {
    passing();
    to.write(piece, (error) => {
      // Of what could not be written the system may still hold the address.
      if (!error) release(piece);
      if (!waits || to.writableLength > MOST_WAITING) return;
      waits = false;
      from.resume();
    });
    if (to.writableLength <= MOST_WAITING) return;
    waits = true;
    from.pause();
  };
  from.on('data', pass);
  return () => {
    from.off('data', pass);
    from.resume();
  };
}

/** Frees the memory of a piece, where it has one of its own. */
function release({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength === buffer.byteLength) buffer.transfer(0);
}
