import type { IncomingMessage } from 'node:http';
import { failure } from '@kubus/kube-objects';

/** As in the reference (k8s.io/apiserver, MaxRequestBodyBytes). */
const LARGEST = 3 * 1024 * 1024;

/** All of a request's body. @throws StatusError 413 as soon as it is larger than 3 MB. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST) {
      throw failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${LARGEST}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
