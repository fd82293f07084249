import type { Duplex } from 'node:stream';

/** How many bytes may wait for a slow receiver; with more, reading for it pauses. */
const MOST_WAITING = 128 * 1024;

/**
 * Forwards what arrives on one connection to another, as fast as the receiver reads; the end is not forwarded. Memory
 * of what has been written is freed at once: left to the garbage collector, a full collection would run for every few
 * dozen MiB, which takes longer than forwarding them.
 *
 * @param passing called with each piece
 *
 * Returns the function that stops it: from then on everything that arrives is dropped.
 */
export function passOn(from: Duplex, to: Duplex, passing: () => void): () => void {
  let waits = false;
  const pass = (piece: Buffer<ArrayBuffer>) => {
    passing();
    to.write(piece, (error) => {
      // After a failed write the system may still use this memory.
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

/** Frees the memory of a piece, when it has memory of its own. */
function release({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength === buffer.byteLength) buffer.transfer(0);
}
