import { KubusError, toError } from '@kubus/ports';
import { type IncomingMessage, request as askServer } from 'node:http';
import { type Socket, connect } from 'node:net';
import { finished } from 'node:stream/promises';
import type { Refusal } from './authorization.ts';
import { passOn } from './pass-on.ts';
import type { Upgrade } from './upgrades.ts';

/** The bytes that passed. */
export interface Passed {
  /** From the client to the runtime. */
  readonly received: number;
  /** From the runtime to the client. */
  readonly sent: number;
}

/** A streaming server's side of a connection that has been upgraded. */
export interface UpgradedServer {
  readonly socket: Socket;
  /** The answer that agrees to the upgrade, and what came behind it. */
  readonly head: Buffer;
}

/** What ends a connection. */
export interface Limits {
  /** Nothing has passed for so long. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** What of a client's request is the runtime's business; above all no credentials. */
const HEADERS = /^(upgrade|origin|user-agent|x-stream-protocol-version|sec-websocket-.*)$/i;
/** A runtime agrees before it does anything; milliseconds. */
const ANSWER_MS = 30_000;
/** A client whose command is over has so long to end its side; milliseconds. */
export const LINGER_MS = 5_000;
/** Of an answer that is no agreement, so much is passed on; bytes. */
const REFUSAL_BYTES = 64 * 1024;

/**
 * Asks a streaming server for what a client wants to speak. Nothing that the client sends reaches the server before it has
 * agreed, so a server that does not agree takes nothing of it for another request.
 *
 * @param url what is asked of the server
 *
 * Resolves with the server's own refusal when it does not agree. Rejects with an error of Node's when nobody answers.
 */
export async function askUpgrade(
  { method = 'GET', rawHeaders }: IncomingMessage,
  url: URL,
  stopped: AbortSignal,
): Promise<UpgradedServer | Refusal> {
  const { hostname: host, port } = url;
  const headers = ['Host', url.host, 'Connection', 'Upgrade', 'Content-Length', '0', ...passedOn(rawHeaders)];
  const asking = askServer({
    ...{ method, path: `${url.pathname}${url.search}`, headers },
    signal: AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS)]),
    createConnection: () => connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true }),
  });
  const answered = new Promise<UpgradedServer | Refusal>((resolve, reject) => {
    asking.on('error', reject);
    asking.once('upgrade', (answer, socket, rest) => {
      resolve({ socket: socket, head: Buffer.concat([answerHead(answer), rest]) });
    });
    asking.once('response', (answer) => {
      refusalOf(answer)
        .then(resolve, reject)
        .finally(() => asking.destroy());
    });
  });
  asking.end();
  return answered;
}

/**
 * Connects a client with a streaming server that has agreed to its upgrade: whatever is spoken then, SPDY or WebSocket,
 * passes as it is, as fast as the slower side takes it.
 *
 * Resolves when the runtime has ended and the client has everything. Rejects with a KubusError `broken`, whose context is what has passed, when a
 * side has gone away in the middle.
 */
export async function proxyUpgrade(
  { socket: client, head }: Upgrade,
  { socket: runtime, head: answer }: UpgradedServer,
  { idleMs, signal }: Limits,
): Promise<Passed> {
  const end = () => {
    client.destroy();
    runtime.destroy();
  };
  const idle = setTimeout(end, idleMs).unref();
  const touch = () => void idle.refresh();
  signal.addEventListener('abort', end, { once: true });
  client.write(answer);
  if (head.length > 0) runtime.write(head);
  const ignoreClient = passOn(client, runtime, touch);
  client.once('end', () => runtime.end());
  passOn(runtime, client, touch);
  // It rejects when the client goes away before it has everything.
  const told = finished(client, { readable: false });
  try {
    await Promise.race([finished(runtime, { writable: false }), told]);
    // Clients end the connection when they have everything; what kubectl has not read yet of one that is ended before is lost.
    ignoreClient();
    await finished(client, { writable: false, signal: AbortSignal.timeout(LINGER_MS) }).catch(() => undefined);
    client.end();
    await told;
    return passed(runtime);
  } catch (cause) {
    throw new KubusError('broken', `the connection broke off: ${toError(cause).message}`, {
      cause,
      context: { ...passed(runtime) },
    });
  } finally {
    clearTimeout(idle);
    signal.removeEventListener('abort', end);
    end();
  }
}

function passed(runtime: Socket): Passed {
  return { received: runtime.bytesWritten, sent: runtime.bytesRead };
}

function passedOn(rawHeaders: readonly string[]): string[] {
  return pairs(rawHeaders)
    .filter(([name]) => HEADERS.test(name))
    .flat();
}

function answerHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage): Buffer {
  const lines = pairs(rawHeaders).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n'), 'latin1');
}

function pairs(rawHeaders: readonly string[]): [name: string, value: string][] {
  return rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : []));
}

async function refusalOf(answer: IncomingMessage): Promise<Refusal> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= REFUSAL_BYTES) break;
  }
  return { status: answer.statusCode ?? 502, text: Buffer.concat(chunks).subarray(0, REFUSAL_BYTES).toString() };
}
