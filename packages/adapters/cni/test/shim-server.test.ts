import { existsSync, lstatSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { Invocation, PluginOutput } from '@kubus/cni-config';
import { encodeFrame } from '../src/frame.ts';
import { encodeAnswer } from '../src/shim-messages.ts';
import { linkShimSocket } from '../src/shim-install.ts';
import { ShimServer, ShimSocketError } from '../src/shim-server.ts';
import { afterTest, buildShim, recordingLogger, run, temporaryFolder } from './support.ts';

const output: PluginOutput = { exitCode: 0, stdout: 'out', stderr: 'err' };
const request = encodeFrame([
  { tag: 'n', value: 'kubus-cni' },
  { tag: 'e', value: 'CNI_COMMAND=ADD' },
  { tag: 'e', value: 'CNI_CONTAINERID=c1' },
  { tag: 'e', value: 'CNI_ARGS=A=1;B=2' },
  { tag: 'i', value: '{}' },
]);

interface Served {
  readonly socketPath: string;
  readonly server: ShimServer;
  readonly calls: Invocation[];
  readonly log: readonly string[];
}

async function serve(handle = (_: Invocation) => Promise.resolve(output), requestTimeoutMs = 10_000): Promise<Served> {
  const socketPath = join(temporaryFolder(), 'bridge', 'shim.sock');
  const calls: Invocation[] = [];
  const logger = recordingLogger();
  const take = (invocation: Invocation) => {
    calls.push(invocation);
    return handle(invocation);
  };
  const server = new ShimServer({ socketPath, logger, requestTimeoutMs, handle: take });
  await server.listen();
  afterTest(() => server.close());
  return { socketPath, server, calls, log: logger.lines };
}

/** Sends bytes and returns the response until the server ends the connection. */
async function send(socketPath: string, bytes: Buffer, end = false): Promise<Buffer> {
  const connection: Socket = connect(socketPath);
  afterTest(() => connection.destroy());
  connection.write(bytes);
  if (end) {
    connection.end();
  }
  return buffer(connection);
}

describe('ShimServer', () => {
  test('passes the call to the handler and the output to the caller', async () => {
    const { socketPath, calls } = await serve();
    expect(await send(socketPath, request)).toEqual(encodeAnswer(output));
    expect(calls).toEqual([
      {
        command: 'ADD',
        containerId: 'c1',
        netns: '',
        ifname: '',
        args: 'A=1;B=2',
        path: '',
        stdin: '{}',
        name: 'kubus-cni',
        traceparent: undefined,
      },
    ]);
  });

  test('a caller that has half-closed the connection is answered', async () => {
    const { socketPath } = await serve();
    expect(await send(socketPath, request, true)).toEqual(encodeAnswer(output));
  });

  test('the socket is accessible to its owner only', async () => {
    const { socketPath } = await serve();
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(join(socketPath, '..')).mode & 0o777).toBe(0o700);
  });

  test('a caller that disconnects after any number of bytes is closed, and calls no handler', async () => {
    const { socketPath, calls } = await serve();
    const answers = await Promise.all(
      Array.from(request, (_, length) => send(socketPath, request.subarray(0, length), true)),
    );
    expect(answers.filter((answer) => answer.length > 0)).toEqual([]);
    expect(calls).toEqual([]);
    expect(await send(socketPath, request)).toEqual(encodeAnswer(output));
  });

  test.each<[string, Buffer]>([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a length above the limit', Buffer.from('KCN\u0001\u00ff\u00ff\u00ff\u00ff', 'latin1')],
    ['no name', encodeFrame([{ tag: 'i', value: '{}' }])],
    ['no standard input', encodeFrame([{ tag: 'n', value: 'kubus-cni' }])],
  ])('%s is refused and logged', async (_, bytes) => {
    const { socketPath, calls, log } = await serve();
    expect(await send(socketPath, bytes)).toHaveLength(0);
    expect(calls).toEqual([]);
    expect(log).toEqual(['a connection to the shim socket failed']);
  });

  test('a caller that never sends its request is disconnected', async () => {
    const { socketPath, calls } = await serve(undefined, 20);
    expect(await send(socketPath, request.subarray(0, 10))).toHaveLength(0);
    expect(calls).toEqual([]);
  });

  test('a failing handler gives no answer, so that the shim calls again', async () => {
    let calls = 0;
    const { socketPath } = await serve(() => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(output);
    });
    const folder = temporaryFolder();
    buildShim(folder);
    await linkShimSocket(folder, socketPath);
    expect(await run(join(folder, 'kubus-cni'))).toEqual({ exitCode: 0, stdout: 'out', stderr: 'err' });
    expect(calls).toBe(2);
  });

  test('a shim is answered by the next server after its server has closed', async () => {
    const asked = Promise.withResolvers<undefined>();
    const first = await serve(() => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    });
    const folder = temporaryFolder();
    buildShim(folder);
    await linkShimSocket(folder, first.socketPath);
    const answer = run(join(folder, 'kubus-cni'));
    await asked.promise;
    await first.server.close();
    const next = new ShimServer({
      socketPath: first.socketPath,
      logger: recordingLogger(),
      handle: () => Promise.resolve({ ...output, stdout: 'next' }),
    });
    await next.listen();
    afterTest(() => next.close());
    expect((await answer).stdout).toBe('next');
  });
});

describe('the socket path', () => {
  function at(socketPath: string): ShimServer {
    const server = new ShimServer({ socketPath, logger: recordingLogger(), handle: () => Promise.resolve(output) });
    afterTest(() => server.close());
    return server;
  }

  test('an abandoned socket is replaced', async () => {
    const folder = join(temporaryFolder(), 'bridge');
    const socketPath = join(folder, 'shim.sock');
    mkdirSync(folder, { mode: 0o700 });
    await leaveStaleSocket(folder, socketPath);
    await at(socketPath).listen();
    expect(await send(socketPath, request)).toEqual(encodeAnswer(output));
  });

  test('a served socket is kept', async () => {
    const { socketPath } = await serve();
    await expect(at(socketPath).listen()).rejects.toThrow(`${socketPath}: another process serves it`);
    expect(await send(socketPath, request)).toEqual(encodeAnswer(output));
  });

  test('a file that is not a socket is kept', async () => {
    const folder = join(temporaryFolder(), 'bridge');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, 'shim.sock'), 'precious');
    await expect(at(join(folder, 'shim.sock')).listen()).rejects.toThrow(ShimSocketError);
    expect(lstatSync(join(folder, 'shim.sock')).size).toBe(8);
  });

  test('a folder that others can access is refused, not changed', async () => {
    const folder = join(temporaryFolder(), 'open');
    mkdirSync(folder);
    await expect(at(join(folder, 'shim.sock')).listen()).rejects.toThrow('its folder has mode 755; it must be 700');
    expect(statSync(folder).mode & 0o777).toBe(0o755);
    expect(existsSync(join(folder, 'shim.sock'))).toBe(false);
  });

  test('a path that is too long for the kernel is refused', async () => {
    await expect(at(`/tmp/${'x'.repeat(120)}`).listen()).rejects.toThrow('is longer than 107 bytes');
  });
});

/** A socket whose server has ended without removing it, as after a SIGKILL. */
async function leaveStaleSocket(folder: string, socketPath: string): Promise<void> {
  const elsewhere = join(folder, 'other.sock');
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(elsewhere, resolve));
  renameSync(elsewhere, socketPath); // Closing removes only the path that it was bound to.
  await new Promise((resolve) => server.close(resolve));
  expect(lstatSync(socketPath).isSocket()).toBe(true);
}
