import { KubusError, toError } from '@kubus/ports';
import { bodyBegin } from '@kubus/service-kit';
import { type IncomingMessage, request as askServer } from 'node:http';
import { type Socket, connect } from 'node:net';
import { finished } from 'node:stream/promises';
import type { Refusal } from '../auth/authorization.ts';
import { passOn } from './pass-on.ts';
import { peerReads } from './peer-state.ts';
import type { Upgrade } from '../server/upgrades.ts';

/** The bytes that were transferred. */
export interface Passed {
  /** From the client to the runtime. */
  readonly received: number;
  /** From the runtime to the client. */
  readonly sent: number;
}

/** The streaming server's side of an upgraded connection. */
export interface UpgradedServer {
  readonly socket: Socket;
  /** The answer that accepts the upgrade, and the bytes after it. */
  readonly head: Buffer;
  /** The protocol is WebSocket, not SPDY. */
  readonly webSocket: boolean;
}

/** Limits that end a connection. */
export interface Limits {
  /** No data was transferred for this long, in milliseconds. */
  readonly idleMs: number;
  /** How long a client may take to end its side after the end of its command, in milliseconds. */
  readonly lingerMs: number;
  readonly signal: AbortSignal;
}

/** The headers of a client's request that are forwarded to the runtime; in particular no credentials. */
const HEADERS = /^(upgrade|origin|user-agent|x-stream-protocol-version|sec-websocket-.*)$/i;
/** How long the runtime may take to accept, in milliseconds; it accepts before it does anything. */
const ANSWER_MS = 30_000;
/** How much of a refusal is forwarded, in bytes. */
const REFUSAL_BYTES = 64 * 1024;

/**
 * Requests from a streaming server the protocol that a client asks for. Nothing that the client sends reaches the
 * server before it has accepted, so a server that refuses cannot take any of it for another request.
 *
 * @param url the URL that is requested from the server
 *
 * Resolves with the server's own refusal when it does not agree. Rejects with an error of Node.js when there is no
 * answer.
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
      const webSocket = answer.headers.upgrade?.toLowerCase() === 'websocket';
      resolve({ socket, head: Buffer.concat([answerHead(answer), rest]), webSocket });
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
 * Connects a client with a streaming server that has accepted its upgrade: the protocol, SPDY or WebSocket, is
 * forwarded unchanged, as fast as the slower side reads.
 *
 * Resolves when the runtime has ended and the client has received everything. Rejects with a KubusError `broken`,
 * whose context is what was transferred, when a side has disconnected in the middle.
 */
export async function proxyUpgrade(
  { socket: client, head }: Upgrade,
  { socket: runtime, head: answer, webSocket }: UpgradedServer,
  { idleMs, lingerMs, signal }: Limits,
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
  const output = passOn(runtime, client, { passing: touch });
  // Anything sent to a runtime that has ended, a keep-alive for example, would cost the client the output that is still on its way.
  const isRead = () => !output.mayWait() || peerReads(runtime);
  const input = passOn(client, runtime, { passing: touch, isRead, ended: () => runtime.end() });
  // It rejects when the client disconnects before it has received everything.
  const clientEnded = finished(client, { readable: false });
  let broken: unknown;
  try {
    // A runtime that disconnects may have written something that the client has not received yet.
    await Promise.race([
      finished(runtime, { writable: false }).catch((error: unknown) => (broken = error)),
      clientEnded,
    ]);
    input.stop();
    // A WebSocket's client waits for the server's end. With SPDY, clients end the connection when they have received everything, and
    // kubectl would lose what it has not read yet. Whoever still sends to a closed connection loses that as well.
    if (webSocket || broken !== undefined) client.end();
    await finished(client, { writable: false, signal: AbortSignal.timeout(lingerMs) }).catch(() => undefined);
    client.end();
    await clientEnded;
    if (broken !== undefined) throw toError(broken);
    return passed(runtime);
  } catch (cause) {
    throw new KubusError('broken', `the connection was broken: ${toError(cause).message}`, {
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
  const text = (await bodyBegin(answer, REFUSAL_BYTES)).toString();
  return { status: answer.statusCode ?? 502, text };
}
