// The compiled shim against servers of every kind: good, hostile, slow and absent.
import { createServer, type Socket } from 'node:net';
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CNI_VERSIONS } from '@kubus/cni-config';
import { type Field, FrameReader, encodeFrame } from '../src/frame.ts';
import { linkShimSocket } from '../src/shim-install.ts';
import { encodeAnswer } from '../src/shim-messages.ts';
import { type Ended, afterTest, buildShim, run, temporaryFolder } from './support.ts';

let built = '';
beforeAll(() => {
  built = mkdtempSync(join(tmpdir(), 'kubus-shim-'));
  buildShim(built);
});
afterAll(() => rmSync(built, { recursive: true, force: true }));

const config = '{"cniVersion":"0.4.0","name":"kubus","type":"kubus-cni"}';
const output = { exitCode: 0, stdout: '{"cniVersion":"0.4.0"}\n', stderr: 'a line\n' };

type Serve = (connection: Socket, attempt: number, request: Field[]) => void;

/** A folder with the shim and a server that receives each complete request. */
async function shimWith(serve: Serve): Promise<string> {
  const folder = temporaryFolder();
  buildLinks(folder);
  const socketPath = join(folder, 's');
  let attempts = 0;
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    const reader = new FrameReader();
    connections.add(connection);
    connection.on('error', () => undefined);
    connection.on('data', (part) => {
      const fields = reader.push(part);
      if (fields !== undefined) {
        attempts += 1;
        serve(connection, attempts, fields);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  afterTest(() => {
    connections.forEach((connection) => connection.destroy());
    return new Promise((resolve) => server.close(resolve));
  });
  await linkShimSocket(folder, socketPath);
  return folder;
}

function buildLinks(folder: string): void {
  for (const name of ['kubus-cni', 'loopback']) {
    linkSync(join(built, name), join(folder, name));
  }
}

function shim(folder: string, env: Record<string, string> = {}, name = 'kubus-cni'): Promise<Ended> {
  return run(join(folder, name), { env: { CNI_COMMAND: 'ADD', KUBUS_CNI_TIMEOUT: '20', ...env }, stdin: config });
}

/** A server that breaks the first attempt and answers the second. */
async function secondAttempt(ruin: (connection: Socket) => void): Promise<Ended> {
  const folder = await shimWith((connection, attempt) => {
    if (attempt === 1) {
      ruin(connection);
    } else {
      connection.end(encodeAnswer(output));
    }
  });
  return shim(folder);
}

describe('a call', () => {
  test('reaches the bridge completely, and its answer the runtime', async () => {
    const requests: Field[][] = [];
    const folder = await shimWith((connection, _, request) => {
      requests.push(request);
      connection.end(encodeAnswer({ ...output, exitCode: 7 }));
    });
    const env = { CNI_COMMAND: 'ADD', CNI_ARGS: 'A=1;B=2', TRACEPARENT: '00-1-2-01', SECRET: 'stays' };
    expect(await shim(folder, env)).toEqual({ ...output, exitCode: 7 });
    const fields = requests.flat().map(({ tag, value }) => `${tag} ${value.toString()}`);
    expect(fields.sort()).toEqual([
      'c run',
      'e CNI_ARGS=A=1;B=2',
      'e CNI_COMMAND=ADD',
      'e TRACEPARENT=00-1-2-01',
      `i ${config}`,
      'n kubus-cni',
    ]);
  });

  test('has the name under which the shim was started', async () => {
    const folder = await shimWith((connection, _, request) => {
      const name = request.find(({ tag }) => tag === 'n')?.value.toString() ?? '';
      connection.end(encodeAnswer({ ...output, stdout: name }));
    });
    expect((await shim(folder, {}, 'loopback')).stdout).toBe('loopback');
  });

  test('may be large, and so may the answer', async () => {
    const large = 'x'.repeat(3_000_000);
    const folder = await shimWith((connection, _, request) => {
      const length = request.find(({ tag }) => tag === 'i')?.value.length ?? 0;
      connection.end(encodeAnswer({ exitCode: 0, stdout: large, stderr: String(length) }));
    });
    const answer = await run(join(folder, 'kubus-cni'), { stdin: large });
    expect(answer.stderr).toBe('3000000');
    expect(answer.stdout === large).toBe(true);
  });

  test('that is too large is refused', async () => {
    const folder = await shimWith((connection) => connection.end(encodeAnswer(output)));
    const answer = await run(join(folder, 'kubus-cni'), { stdin: 'x'.repeat(5_000_000) });
    expect(answer.exitCode).toBe(1);
    expect(JSON.parse(answer.stdout)).toMatchObject({ code: 5, msg: expect.stringContaining('larger than 4194304') });
  });

  test('works from a folder whose path is longer than a socket address', async () => {
    const deep = join(temporaryFolder(), 'd'.repeat(100), 'e'.repeat(100));
    mkdirSync(deep, { recursive: true });
    buildLinks(deep);
    const folder = await shimWith((connection) => connection.end(encodeAnswer(output)));
    await linkShimSocket(deep, join(folder, 's'));
    expect(await shim(deep)).toEqual(output);
  });
});

describe('after an incomplete answer the shim calls again', () => {
  const whole = encodeAnswer(output);

  test('the connection ends after any number of bytes', async () => {
    const answers = await Promise.all(
      Array.from(whole, (_, length) => secondAttempt((connection) => connection.end(whole.subarray(0, length)))),
    );
    expect(answers).toHaveLength(whole.length);
    for (const answer of answers) {
      expect(answer).toEqual(output);
    }
  });

  test('an answer in single bytes is complete', async () => {
    const folder = await shimWith((connection) => {
      connection.setNoDelay(true);
      const send = (at: number) => {
        if (at < whole.length) {
          connection.write(whole.subarray(at, at + 1), () => setImmediate(send, at + 1));
        }
      };
      send(0);
    });
    expect(await shim(folder)).toEqual(output);
  });

  const altered = (at: number, ...bytes: number[]) => {
    const copy = Buffer.from(whole);
    bytes.forEach((byte, index) => copy.writeUInt8(byte, at + index));
    return copy;
  };
  test.each<[string, Buffer]>([
    ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['another version', altered(3, 2)],
    ['a length above the limit', altered(4, 255, 255, 255, 255)],
    ['a length that is too short for its fields', altered(7, 9)],
    ['a field that is longer than the frame', altered(9, 255, 255, 255, 255)],
    ['no exit code', encodeFrame([{ tag: 'o', value: 'text' }])],
    ['an exit code of two bytes', encodeFrame([{ tag: 'x', value: '12' }])],
    ['an empty frame', encodeFrame([])],
  ])('%s', async (_, bytes) => {
    expect(await secondAttempt((connection) => connection.end(bytes))).toEqual(output);
  });

  test('nothing of it is used', async () => {
    const folder = await shimWith((connection, attempt) => {
      const fields = [attempt === 1 ? { tag: 'r', value: 'broken' } : { tag: 'x', value: Buffer.from([0]) }];
      connection.end(encodeFrame(fields));
    });
    expect(await shim(folder)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  test('an unknown field is ignored', async () => {
    const more = encodeFrame([
      { tag: '?', value: 'later' },
      { tag: 'x', value: Buffer.from([3]) },
      { tag: 'o', value: 'text' },
    ]);
    const folder = await shimWith((connection) => connection.end(more));
    expect(await shim(folder)).toEqual({ exitCode: 3, stdout: 'text', stderr: '' });
  });
});

describe('without a bridge', () => {
  /** The shim's own error, with a short limit. */
  async function failure(serve: Serve | undefined, env: Record<string, string>, stdin: string): Promise<unknown> {
    const folder = serve === undefined ? built : await shimWith(serve);
    const limit = { KUBUS_CNI_TIMEOUT: '0.2' };
    const { exitCode, stdout } = await run(join(folder, 'kubus-cni'), { env: { ...limit, ...env }, stdin });
    expect(exitCode).toBe(1);
    return JSON.parse(stdout);
  }

  test.each([
    ['ADD', 11],
    ['DEL', 11],
    ['STATUS', 50],
  ])('%s fails with code %i at its time limit', async (command, code) => {
    expect(await failure(undefined, { CNI_COMMAND: command }, config)).toEqual({
      cniVersion: '0.4.0',
      code,
      msg: 'kubus-cni: cni-bridge gave no answer within 0.2 s (kubus-cni.sock: No such file or directory)',
    });
  });

  test('a call to a bridge that never answers times out', async () => {
    expect(await failure(() => undefined, { CNI_COMMAND: 'ADD' }, config)).toMatchObject({
      code: 11,
      msg: expect.stringContaining('(kubus-cni.sock: '),
    });
  });

  test('a call to a bridge that only answers garbage times out', async () => {
    const rubbish: Serve = (connection) => connection.end('garbage longer than a header');
    expect(await failure(rubbish, { CNI_COMMAND: 'ADD' }, config)).toMatchObject({
      code: 11,
      msg: expect.stringContaining('(kubus-cni.sock: the answer is not of this protocol)'),
    });
  });

  test.each([
    ['{"cniVersion" : "0.3.1"}', '0.3.1'],
    ['{"prevResult":{"cniVersion":"0.2.0"},"list":["cniVersion"],"cniVersion":"1.0.0"}', '1.0.0'],
    ['{"a\\"":"\\"cniVersion\\":","cniVersion":"1.1.0"}', '1.1.0'],
    ['{"name":"cniVersion","x":"0.4.0"}', '0.1.0'],
    ['{}', '0.1.0'],
    ['', '0.1.0'],
    ['{"cniVersion":', '0.1.0'],
    ['{"cniVersion', '0.1.0'],
    ['{"cniVersion":"x"}', '0.1.0'],
    ['\0\0"\\', '0.1.0'],
  ])('the error has the requested CNI version: %j', async (stdin, cniVersion) => {
    expect(await failure(undefined, { CNI_COMMAND: 'ADD' }, stdin)).toMatchObject({ cniVersion, code: 11 });
  });

  test('VERSION is answered with all versions nevertheless', async () => {
    const { exitCode, stdout } = await shim(built, { CNI_COMMAND: 'VERSION' });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ cniVersion: CNI_VERSIONS.at(-1), supportedVersions: [...CNI_VERSIONS] });
  });

  test('a shim that a bridge runs as a plugin refuses the call', async () => {
    expect(await failure(undefined, { KUBUS_OWNER: 'node/1' }, config)).toMatchObject({ code: 7 });
  });
});

test('building again replaces a running shim', async () => {
  const folder = temporaryFolder();
  buildShim(folder);
  const asked = Promise.withResolvers<Socket>();
  const server = await shimWith((connection) => asked.resolve(connection));
  await linkShimSocket(folder, join(server, 's'));
  const before = statSync(join(folder, 'kubus-cni')).ino;
  const answer = shim(folder);
  const connection = await asked.promise;
  buildShim(folder);
  connection.end(encodeAnswer(output));
  expect(await answer).toEqual(output);
  expect(statSync(join(folder, 'kubus-cni')).ino).not.toBe(before);
});
