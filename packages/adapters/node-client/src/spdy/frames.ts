// Frames of SPDY/3.1 (draft 3.1, section 2), as far as a client of the container runtimes' streaming servers needs them.

/** Types of control frames (draft 3.1, section 2.6). */
export const FRAME = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const;

/** The flag of the last frame of a direction. */
export const FIN = 0x01;

const VERSION = 3;
const HEAD = 8;
const CONTROL = 0x8000;

/** A received control frame, or some bytes of a data frame. */
export type Received =
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  | { readonly kind: 'data'; readonly stream: number; readonly bytes: Buffer; readonly fin: boolean };

export function controlFrame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt16BE(CONTROL | VERSION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

/** The header of `length` bytes of a stream, less than 16 MiB. */
export function dataHead(stream: number, length: number, flags: number): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(stream, 0);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(length, 5, 3);
  return head;
}

/** Opens a stream (section 2.6.1), with priority 0 and without an associated stream. */
export function synStream(stream: number, headerBlock: Buffer): Buffer {
  const fields = Buffer.alloc(10);
  fields.writeUInt32BE(stream, 0);
  return controlFrame(FRAME.synStream, 0, Buffer.concat([fields, headerBlock]));
}

/** CANCEL of section 2.6.3: the opener of the stream no longer needs it. */
const CANCEL = 5;

/** Resets a stream in both directions. */
export function rstStream(stream: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(stream, 0);
  payload.writeUInt32BE(CANCEL, 4);
  return controlFrame(FRAME.rstStream, 0, payload);
}

/** No control frame of such a server is longer; a longer one means another protocol. */
const LONGEST_CONTROL = 64 * 1024;

/** Splits the data of a connection into frames, in whatever pieces it arrives. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  /** The data frame that is being received. */
  #data: { readonly stream: number; left: number; readonly fin: boolean } | undefined;

  /** Throws a RangeError for data that is not SPDY/3.1. */
  *read(chunk: Buffer): Generator<Received> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      if (this.#data !== undefined) {
        const { stream, left, fin } = this.#data;
        const taken = bytes.subarray(0, left);
        bytes = bytes.subarray(taken.length);
        const isWhole = taken.length === left;
        if (isWhole) this.#data = undefined;
        else this.#data.left -= taken.length;
        if (taken.length > 0 || isWhole) yield { kind: 'data', stream, bytes: taken, fin: fin && isWhole };
        if (!isWhole) break;
        continue;
      }
      if (bytes.length < HEAD) break;
      const [first, flags, length] = [bytes.readUInt32BE(0), bytes.readUInt8(4), bytes.readUIntBE(5, 3)];
      if (first >>> 31 === 0) {
        this.#data = { stream: first, left: length, fin: (flags & FIN) !== 0 };
        bytes = bytes.subarray(HEAD);
        continue;
      }
      const [version, type] = [bytes.readUInt16BE(0) & ~CONTROL, bytes.readUInt16BE(2)];
      if (version !== VERSION) throw new RangeError(`a frame of version ${version} is not SPDY/3.1`);
      if (length > LONGEST_CONTROL) throw new RangeError(`a control frame of ${length} bytes is too long`);
      if (bytes.length < HEAD + length) break;
      yield { kind: 'control', type, flags, payload: Buffer.from(bytes.subarray(HEAD, HEAD + length)) };
      bytes = bytes.subarray(HEAD + length);
    }
    this.#rest = bytes;
  }
}
