import { KubusError } from '@kubus/ports';

/** The largest frame, header included (bytes). */
export const FRAME_LIMIT = 4 * 1024 * 1024;

const MAGIC = Buffer.from('KCN\u0001', 'latin1');
const HEADER = 8;
const FIELD_HEADER = 5;

/** One field of a frame: its tag (one letter) and content. */
export interface Field {
  readonly tag: string;
  readonly value: Buffer;
}

/** Thrown for bytes that are not a frame of the shim's protocol (../README.md). */
export class FrameError extends KubusError {
  constructor(message: string) {
    super('ShimFrameInvalid', message);
  }
}

/**
 * A frame with these fields.
 *
 * @throws FrameError when it is larger than FRAME_LIMIT.
 */
export function encodeFrame(fields: readonly { tag: string; value: Buffer | string }[]): Buffer {
  const parts = fields.flatMap(({ tag, value }) => {
    const content = typeof value === 'string' ? Buffer.from(value) : value;
    const header = Buffer.alloc(FIELD_HEADER);
    header.write(tag, 'latin1');
    header.writeUInt32BE(content.length, 1);
    return [header, content];
  });
  const body = Buffer.concat(parts);
  if (HEADER + body.length > FRAME_LIMIT) {
    throw new FrameError(`a frame of ${HEADER + body.length} bytes is larger than ${FRAME_LIMIT}`);
  }
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([MAGIC, length, body]);
}

/** Assembles a frame from the parts in which a connection delivers it. */
export class FrameReader {
  #received: Buffer = Buffer.alloc(0);

  /**
   * Adds the next bytes; returns the frame's fields once it is complete, undefined before.
   *
   * @throws FrameError as soon as the bytes cannot become a frame.
   */
  push(part: Buffer): Field[] | undefined {
    this.#received = this.#received.length === 0 ? part : Buffer.concat([this.#received, part]);
    const received = this.#received;
    const known = Math.min(received.length, MAGIC.length);
    if (!received.subarray(0, known).equals(MAGIC.subarray(0, known))) {
      throw new FrameError('the bytes are not of this protocol, or of another version of it');
    }
    if (received.length < HEADER) {
      return undefined;
    }
    const length = HEADER + received.readUInt32BE(MAGIC.length);
    if (length > FRAME_LIMIT) {
      throw new FrameError(`a frame of ${length} bytes is larger than ${FRAME_LIMIT}`);
    }
    if (received.length > length) {
      throw new FrameError('bytes follow the frame');
    }
    return received.length < length ? undefined : fieldsOf(received.subarray(HEADER));
  }
}

function fieldsOf(body: Buffer): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < body.length;) {
    const start = at + FIELD_HEADER;
    const end = start <= body.length ? start + body.readUInt32BE(at + 1) : Infinity;
    if (end > body.length) {
      throw new FrameError('a field is longer than its frame');
    }
    fields.push({ tag: body.toString('latin1', at, at + 1), value: body.subarray(start, end) });
    at = end;
  }
  return fields;
}
