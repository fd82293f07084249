// Reads one log many times at once, in a process of its own: what a service holds is then not mixed with what its clients hold.
// Half of them begin to read when the others are through: a service that does not wait for them has time to read ahead.
// Arguments: port, path, how many readers, bytes for each. Tells its parent when all are connected, then how far they are,
// then their hashes.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { begin } from './client.ts';

/** What the process tells its parent. */
export type ReadersTold =
  | { readonly kind: 'connected' }
  /** All readers together have so many bytes. */
  | { readonly kind: 'read'; readonly bytes: number }
  /** Of what each reader has got; all have got as many bytes as was asked for. */
  | { readonly kind: 'done'; readonly hashes: readonly string[] };

/** After so many bytes of all readers together it is told how far they are. */
const STEP = 64 * 1024 * 1024;

const [port, path = '', count, bytes] = process.argv.slice(2);
let read = 0;
let told = 0;

function tell(what: ReadersTold): void {
  process.send?.(what);
}

async function hashOf(response: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  let left = Number(bytes);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    left -= chunk.length;
    read += chunk.length;
    if (read - told >= STEP) {
      told = read;
      tell({ kind: 'read', bytes: read });
    }
    if (left <= 0) break;
  }
  if (left !== 0) throw new Error(`${-left} bytes too many`);
  return hash.digest('hex');
}

const responses = await Promise.all(Array.from({ length: Number(count) }, () => begin(Number(port), path)));
tell({ kind: 'connected' });
const half = responses.length / 2;
const first = await Promise.all(responses.slice(0, half).map(hashOf));
const second = await Promise.all(responses.slice(half).map(hashOf));
tell({ kind: 'done', hashes: [...first, ...second] });
process.disconnect();
