import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Access } from './credentials.ts';

export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** A stream occupies the connection. */
  readonly stream?: boolean | undefined;
}

/** Sends one request and resolves with the head of the response. Rejects when there is none. */
export function exchange(access: Access, { path, body, stream, headers, ...rest }: Exchange): Promise<IncomingMessage> {
  const { server } = access;
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const send = server.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send({
      ...rest,
      // An IPv6 address has brackets only in a URL.
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port,
      path: `${server.pathname.replace(/\/$/, '')}${path}`,
      headers: { ...headers, ...length, ...access.headers },
      agent: stream === true ? access.streams : access.requests,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
}

/**
 * The whole body. Rejects when the connection breaks before its end.
 *
 * @param read is called with the number of bytes in it
 */
export async function readBody(response: IncomingMessage, read?: (bytes: number) => void): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  read?.(body.length);
  const text = body.toString('utf8');
  const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '');
  return isJson ? parseJson(text) : text;
}

/** Throws an error that, unlike the parser's own, quotes none of the text: it may contain a secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${text.length} characters that are not JSON`);
  }
}

/** Calls `take` for each line of the body, as it arrives. Resolves at the end; an unterminated last line is dropped. */
export async function readLines(response: IncomingMessage, take: (line: string) => void): Promise<void> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') take(line);
  }
}
