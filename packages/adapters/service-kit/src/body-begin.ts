import type { IncomingMessage } from 'node:http';

/** The beginning of an answer's body: up to so many bytes. The rest is not read. */
export async function bodyBegin(answer: IncomingMessage, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size >= bytes) break;
  }
  return Buffer.concat(parts).subarray(0, bytes);
}
