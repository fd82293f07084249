import { SpdySession } from '@kubus/node-client';
import { Duplex } from 'node:stream';

/** The connection of a session: what it writes is dropped. */
class Line extends Duplex {
  override _read(): void {
    // The test pushes.
  }

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }
}

/** A client with two streams that receives these bytes in two parts, and then the connection's end. */
export async function receiveSpdy(bytes: Buffer): Promise<void> {
  const line = new Line();
  const failed = Promise.withResolvers<Error | undefined>();
  line.once('error', failed.resolve);
  line.once('close', () => failed.resolve(undefined));
  const session = new SpdySession(line, Buffer.alloc(0));
  for (const kind of ['error', 'data']) {
    const stream = session.open({ streamtype: kind });
    stream.on('error', () => undefined);
    stream.resume();
  }
  const half = bytes.length >> 1;
  for (const part of [bytes.subarray(0, half), bytes.subarray(half)]) if (part.length > 0) line.push(part);
  line.push(null);
  const error = await failed.promise;
  await session.closed;
  // Refusals of frames are of this kind.
  if (error !== undefined && !(error instanceof RangeError && /frame/.test(error.message))) throw error;
}
