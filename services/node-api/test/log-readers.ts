// Reads one log many times at once, in a process of its own, so that a service's memory is not mixed with its
// clients'. Half of the readers start when the others have finished: a service that does not wait for them has time to
// read ahead. Arguments: port, path, number of readers, bytes for each. Reports to its parent when all are connected,
// then their progress, then their hashes.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { begin } from './client.ts';

/** What the process reports to its parent. */
export type ReadersReport =
  | { readonly kind: 'connected' }
  /** All readers together have received so many bytes. */
  | { readonly kind: 'read'; readonly bytes: number }
  /** Of what each reader has received; each has as many bytes as were requested. */
  | { readonly kind: 'done'; readonly hashes: readonly string[] };

/** After so many bytes of all readers together the progress is reported. */
const STEP = 16 * 1024 * 1024;

const [port, path = '', count, bytes] = process.argv.slice(2);
let read = 0;
let reported = 0;

function report(what: ReadersReport): void {
  process.send?.(what);
}

async function hashOf(response: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  let left = Number(bytes);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    left -= chunk.length;
    read += chunk.length;
    if (read - reported >= STEP) {
      reported = read;
      report({ kind: 'read', bytes: read });
    }
    if (left <= 0) break;
  }
  if (left !== 0) throw new Error(`${-left} bytes too many`);
  return hash.digest('hex');
}

const responses = await Promise.all(Array.from({ length: Number(count) }, () => begin(Number(port), path)));
report({ kind: 'connected' });
const half = responses.length / 2;
const first = await Promise.all(responses.slice(0, half).map(hashOf));
const second = await Promise.all(responses.slice(half).map(hashOf));
report({ kind: 'done', hashes: [...first, ...second] });
process.disconnect();
