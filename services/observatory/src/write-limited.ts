import { createWriteStream, rmSync } from 'node:fs';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RequestError } from './recordings.ts';

/** Writes a file that only its owner may read. Rejects and leaves no file when the data exceeds the limit or is cut off. */
export async function writeLimited(from: Readable, path: string, maxBytes: number): Promise<void> {
  let bytes = 0;
  const limit = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) done(null, chunk);
      else done(new RequestError(413, 'too-large', `the file has more than ${maxBytes} bytes`));
    },
  });
  try {
    await pipeline(from, limit, createWriteStream(path, { mode: 0o600 }));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}
