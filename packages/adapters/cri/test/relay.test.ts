// The relay as a process between real HTTP/2 ends: what it copies, when it waits, and when it ends.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type Http2Server,
  type ServerHttp2Stream,
  connect,
  constants,
  createServer,
} from 'node:http2';
import { type Socket, connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from './until.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubus-relay-'));
const binary = join(folder, 'cri-relay');
const runtimeSocket = join(folder, 'runtime.sock');
const socket = join(folder, 'relay.sock');

beforeAll(() => {
  const script = fileURLToPath(new URL('../scripts/build-relay.mjs', import.meta.url));
  execFileSync(process.execPath, [script, binary], { stdio: 'inherit' });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Resources of one test, removed after it. */
const undo: (() => void)[] = [];
afterEach(() => {
  while (undo.length > 0) {
    undo.pop()?.();
  }
});

type RelayProcess = ChildProcessByStdio<Writable, Readable, Readable>;

function spawnRelay(...args: string[]): RelayProcess {
  const child = spawn(binary, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  undo.push(() => child.kill('SIGKILL'));
  return child;
}

async function startRelay(idleSeconds = 300): Promise<RelayProcess> {
  const relay = spawnRelay(socket, runtimeSocket, String(idleSeconds));
  await once(relay.stdout, 'data');
  return relay;
}

const runs = (relay: RelayProcess) => relay.exitCode === null && relay.signalCode === null;

/** The state of a process in the kernel: S is sleeping. */
function sleeps(relay: RelayProcess): boolean {
  const stat = readFileSync(`/proc/${relay.pid ?? 0}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('S');
}

/** Resolves also when it closes with an error, which events.once does not. */
const closed = (stream: ServerHttp2Stream) => new Promise<void>((resolve) => stream.once('close', () => resolve()));

interface Caller {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
}

const ended = async (relay: RelayProcess) => (await once(relay, 'exit')) as [number | null, NodeJS.Signals | null];

describe('starting', () => {
  it.each([
    ['without arguments', []],
    ['with an idle time that is not a number', [socket, runtimeSocket, 'long']],
    ['with a path that does not fit a socket address', [`${folder}/${'x'.repeat(120)}`, runtimeSocket, '1']],
    ['with a folder that does not exist', [join(folder, 'none/relay.sock'), runtimeSocket, '1']],
  ])('%s: fails with status 2 and the cause', async (_case, args) => {
    const relay = spawnRelay(...args);
    const [message, [code]] = await Promise.all([buffer(relay.stderr), ended(relay)]);
    expect(code).toBe(2);
    expect(message.toString()).toMatch(/usage|none\/relay.sock/);
  });

  it('creates a socket that only its owner may use, and replaces an old one', async () => {
    const first = await startRelay();
    first.kill('SIGKILL');
    await ended(first);
    expect(existsSync(socket)).toBe(true);
    await startRelay();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
  });
});

describe('without a runtime', () => {
  it('closes a connection and serves the next one', async () => {
    await startRelay();
    for (let i = 0; i < 3; i++) {
      const caller = connectSocket(socket);
      caller.on('error', () => undefined);
      await once(caller, 'close');
    }
  });
});

describe('between a caller and a runtime', () => {
  let server: Http2Server;
  /** Calls as the runtime receives them. */
  let calls: AsyncIterator<unknown[]>;

  beforeEach(async () => {
    server = createServer();
    calls = on(server, 'stream');
    server.listen(runtimeSocket);
    await once(server, 'listening');
    const sockets = new Set<Socket>();
    server.on('connection', (connection: Socket) => sockets.add(connection.on('error', () => undefined)));
    server.on('sessionError', () => undefined);
    undo.push(() => {
      sockets.forEach((connection) => connection.destroy());
      server.close();
    });
  });

  function connectCaller(): Caller {
    const connection = connectSocket(socket).on('error', () => undefined);
    const session = connect('http://localhost', { createConnection: () => connection });
    session.on('error', () => undefined);
    undo.push(() => session.destroy());
    return { session, socket: connection };
  }

  /** A request, with the end of its body as a unary gRPC call sends it or, unfinished, without. */
  function request({ session }: Caller, body = Buffer.from('question'), finish = true) {
    const stream = session.request({ ':method': 'POST', ':path': '/call' });
    stream.on('error', () => undefined);
    stream.write(body);
    if (finish) {
      stream.end();
    }
    return stream;
  }

  async function nextCall(): Promise<ServerHttp2Stream> {
    const next = (await calls.next()) as IteratorYieldResult<[ServerHttp2Stream]>;
    const [stream] = next.value;
    stream.on('error', () => undefined);
    return stream;
  }

  /** Closes the caller's descriptors as SIGKILL would. Resolves when the relay has ended or waits. */
  async function die(relay: RelayProcess, caller: Caller): Promise<void> {
    caller.socket.destroy();
    relay.stdin.destroy();
    await until('the relay to have seen it', () => !existsSync(socket) && (!runs(relay) || sleeps(relay)));
  }

  it('copies requests and answers of any size', async () => {
    await startRelay();
    const question = Buffer.alloc(5_000_000, 'question');
    const caller = connectCaller();
    const answered = buffer(request(caller, question));
    const call = await nextCall();
    const asked = await buffer(call);
    call.respond();
    call.end(Buffer.concat([asked, asked]));
    expect(asked.equals(question)).toBe(true);
    expect((await answered).equals(Buffer.concat([question, question]))).toBe(true);
  });

  it('ends when the caller has closed and no call is open', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    const answered = buffer(request(caller));
    const call = await nextCall();
    call.respond();
    call.end('answer');
    expect((await answered).toString()).toBe('answer');
    relay.stdin.end();
    expect(await ended(relay)).toEqual([0, null]);
    expect(existsSync(socket)).toBe(false);
  });

  it('closes the connection of a caller that has finished but is still connected', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    await once(caller.session, 'remoteSettings');
    const closed = once(caller.session, 'close');
    relay.stdin.end();
    await closed;
    expect(await ended(relay)).toEqual([0, null]);
  });

  it('keeps a complete call open when the caller is killed, until it is answered', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    request(caller);
    const call = await nextCall();
    expect((await buffer(call)).toString()).toBe('question');
    await die(relay, caller);
    expect(runs(relay)).toBe(true);
    const end = ended(relay);
    call.respond();
    call.end('answer');
    expect(await end).toEqual([0, null]);
    expect(call.aborted).toBe(false);
    expect(call.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('waits for the last of several open calls', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    const open: ServerHttp2Stream[] = [];
    for (let i = 0; i < 3; i++) {
      request(caller);
      const call = await nextCall();
      await buffer(call);
      open.push(call);
    }
    await die(relay, caller);
    const end = ended(relay);
    for (const call of open) {
      expect(runs(relay)).toBe(true);
      call.respond();
      call.end('answer');
      await closed(call);
      expect(call.aborted).toBe(false);
    }
    expect(await end).toEqual([0, null]);
  });

  it('does not wait for an incomplete request', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    request(caller, Buffer.from('an incomplete request'), false);
    const call = await nextCall();
    await once(call, 'data');
    const end = ended(relay);
    await die(relay, caller);
    expect(await end).toEqual([0, null]);
  });

  it('does not wait for a cancelled call', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    const asked = request(caller);
    const call = await nextCall();
    await buffer(call);
    const cancelled = closed(call);
    asked.close(constants.NGHTTP2_CANCEL);
    await cancelled;
    const end = ended(relay);
    await die(relay, caller);
    expect(await end).toEqual([0, null]);
  });

  it('ends when the runtime closes the connection', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    request(caller);
    const call = await nextCall();
    await buffer(call);
    const end = ended(relay);
    await die(relay, caller);
    call.session?.destroy();
    expect(await end).toEqual([0, null]);
  });

  it('ends when the runtime is silent for longer than the idle time', async () => {
    const relay = await startRelay(1);
    const caller = connectCaller();
    request(caller);
    await buffer(await nextCall());
    const end = ended(relay);
    await die(relay, caller);
    expect(await end).toEqual([0, null]);
  });

  it('ends at once on SIGTERM, and removes its socket', async () => {
    const relay = await startRelay();
    const caller = connectCaller();
    request(caller);
    const call = await nextCall();
    await buffer(call);
    const aborted = closed(call);
    relay.kill('SIGTERM');
    expect(await ended(relay)).toEqual([0, null]);
    expect(existsSync(socket)).toBe(false);
    await aborted;
  });

  it('serves a new connection while it keeps calls of an old one open', async () => {
    await startRelay();
    const first = connectCaller();
    request(first);
    const held = await nextCall();
    await buffer(held);
    first.socket.destroy();
    const answered = buffer(request(connectCaller()));
    const call = await nextCall();
    call.respond();
    call.end('second');
    expect((await answered).toString()).toBe('second');
    expect(held.aborted).toBe(false);
  });
});
