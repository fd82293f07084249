import type { Duplex } from 'node:stream';

/** How many bytes may wait for a slow receiver; with more, reading for it pauses. */
const MOST_WAITING = 128 * 1024;
/** How long after a piece the next ones may have arrived without having been read yet, in milliseconds. */
const RECENT_MS = 1_000;

/** One direction of a connection. */
export interface Direction {
  /** Whether some of what was sent may not have been read yet: reading pauses, or something arrived a moment ago. */
  readonly mayWait: () => boolean;
  /** From then on everything that arrives is dropped. */
  readonly stop: () => void;
}

export interface PassOnOptions {
  /** Called with each piece. */
  readonly passing: () => void;
  /** Whether the receiver still reads, asked before each piece; when it does not, this direction stops. Default: it does. */
  readonly isRead?: () => Promise<boolean> | true;
  /** Called when the sender has ended and everything before has been written. */
  readonly ended?: () => void;
}

/**
 * Forwards what arrives on one connection to another, as fast as the receiver reads; the end is left to `ended`. Memory
 * of what has been written is freed at once: left to the garbage collector, a full collection would run for every few
 * dozen MiB, which takes longer than forwarding them.
 */
export function passOn(from: Duplex, to: Duplex, { passing, isRead = () => true, ended }: PassOnOptions): Direction {
  let waits = false;
  let lastAt = -Infinity;
  let stopped = false;
  let asking = Promise.resolve();
  const write = (piece: Buffer<ArrayBuffer>) => {
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
  const pass = (piece: Buffer<ArrayBuffer>) => {
    passing();
    lastAt = performance.now();
    const read = isRead();
    if (read === true) {
      write(piece);
      return;
    }
    from.pause();
    asking = read.then((still) => {
      if (stopped) return;
      if (still) write(piece);
      else stop();
      if (!waits) from.resume();
    });
  };
  const stop = () => {
    stopped = true;
    from.off('data', pass);
    from.resume();
  };
  from.on('data', pass);
  // The last piece may still wait for an answer.
  from.once('end', () => void asking.then(ended));
  return { mayWait: () => waits || performance.now() - lastAt < RECENT_MS, stop };
}

/** Frees the memory of a piece, when it has memory of its own. */
function release({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength === buffer.byteLength) buffer.transfer(0);
}
