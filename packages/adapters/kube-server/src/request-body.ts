import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { failure } from '@kubus/kube-objects';

/** As in the reference (k8s.io/apiserver, MaxRequestBodyBytes). */
const LARGEST = 3 * 1024 * 1024;

/** All of a request's body. @throws StatusError 413 as soon as it is larger than 3 MB; the rest is not read. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > LARGEST) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  const read = new AbortController();
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= LARGEST) chunks.push(chunk);
    else read.abort(tooLarge());
  });
  try {
    await once(request, 'end', { signal: read.signal });
  } catch (error) {
    request.pause();
    throw read.signal.aborted ? tooLarge() : error;
  }
  return Buffer.concat(chunks);
}

const tooLarge = () => failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${LARGEST}`);
