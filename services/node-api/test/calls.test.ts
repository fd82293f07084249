// Single calls on a container, and what the process reports about itself.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { KubusError } from '@kubus/ports';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { get } from './client.ts';

let node: ApiNode;
/** The runtime's streaming server, and how it serves a stream. */
let runtime: Server;
let serve: (socket: Socket) => void;

beforeAll(async () => {
  runtime = createServer();
  runtime.on('upgrade', ({ headers }, socket: Socket) => {
    const version = headers['x-stream-protocol-version'];
    const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
    socket.write(`${[...head, `X-Stream-Protocol-Version: ${String(version)}`].join('\r\n')}\r\n\r\n`);
    // The client has opened its streams.
    socket.once('data', () => serve(socket));
    socket.on('error', () => undefined);
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  node = await ApiNode.make();
  says({});
  node.want('api', podNamed('web'));
  node.runs(podNamed('web'), [runOf('run', '')]);
  await node.start(open);
  await poll('the pod is known', async () => (await ask('/run/default/web/main?cmd=a')).status === 200 || undefined);
});
afterAll(async () => {
  await node.remove();
  runtime.close();
});
beforeEach(() => {
  node.asked.length = 0;
  says({});
  node.response = () => ({});
});

const ask = (path: string, method = 'POST', body = '') => get(node.api.ports.secure, path, { method, body });

/** What the runtime answers a command over the streams of its client. */
function says(what: { stdout?: string; stderr?: string; status?: object }): void {
  const { stdout = '', stderr = '', status = { status: 'Success' } } = what;
  node.streamingUrl = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/token`;
  serve = (socket) => {
    socket.write(Buffer.concat([frame(3, stdout), frame(5, stderr), frame(1, JSON.stringify(status))]));
  };
}

/** All data of one stream, in SPDY: its ID, FIN and the length, the bytes. */
function frame(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(stream);
  head.writeUInt32BE(0x01_00_00_00 + Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe('/run', () => {
  const asked = (cmd: string[]) => [
    ['Exec', { containerId: 'run', cmd, stdin: false, stdout: true, stderr: true, tty: false }],
  ];

  test.each(['/run/default/web/main', '/run/default/web/uid-web/main'])(
    '%s returns a command’s output',
    async (path) => {
      says({ stdout: 'out\n', stderr: 'err\n' });
      expect(await ask(`${path}?cmd=ls+-l%20/`)).toMatchObject({ status: 200, text: 'out\nerr\n' });
      expect(node.asked).toEqual(asked(['ls', '-l', '/']));
    },
  );

  test('reports a command that fails', async () => {
    const details = { causes: [{ reason: 'ExitCode', message: '3' }] };
    says({ stdout: 'out', stderr: 'none', status: { status: 'Failure', reason: 'NonZeroExitCode', details } });
    expect(await ask('/run/default/web/main?cmd=ls+x')).toMatchObject({
      status: 500,
      text: "command 'ls x' exited with 3: none",
    });
    expect(node.api.streams).toBe(0);
  });

  test.each([
    [
      'that the runtime cannot start',
      () => says({ status: { status: 'Failure', message: 'no "secret"' } }),
      'no "secret"',
    ],
    ['that is lost', () => (serve = (socket) => socket.destroy()), 'the connection to the command was lost: '],
    ['in a container that the runtime does not know', () => (node.streamingUrl = undefined), 'code = NotFound'],
    ['without a streaming server', () => (node.streamingUrl = 'http://127.0.0.1:1/exec/x'), 'does not answer: '],
  ])('a command %s is an error, whose text is for the caller alone', async (_what, prepare, text) => {
    node.events.length = 0;
    prepare();
    expect(await ask('/run/default/web/main?cmd=secret')).toMatchObject({
      ...{ status: 500, text: expect.stringContaining(text) as unknown },
    });
    // Events of the tests before may still arrive.
    const failed = () => node.events.find(({ error }) => error !== undefined);
    await node.untilEvents(() => failed() !== undefined);
    const events = node.events.filter(({ stream }) => stream === failed()?.stream);
    expect(events.map(({ what, kind }) => [what, kind])).toEqual([
      ['began', 'exec'],
      ['ended', 'exec'],
    ]);
    expect(JSON.stringify(node.events)).not.toContain('secret');
  });

  test.each([
    ['/run/default/none/main?cmd=ls', 404, 'pod does not exist'],
    ['/run/default/web/other-uid/main?cmd=ls', 404, 'pod does not exist'],
    ['/run/default/web/none?cmd=ls', 500, 'container not found ("none")'],
  ])('%s is %d', async (path, status, text) => {
    expect(await ask(path)).toMatchObject({ status, text });
    expect(node.asked).toEqual([]);
  });

  test('is not served for GET', async () => {
    expect((await ask('/run/default/web/main?cmd=ls', 'GET')).status).toBe(405);
  });
});

describe('/checkpoint', () => {
  test('returns the file that the runtime has written', async () => {
    const { status, text } = await ask('/checkpoint/default/web/main?timeout=1&timeout=7');
    const { items } = JSON.parse(text) as { items: string[] };
    const [[, params] = []] = node.asked;
    expect(status).toBe(200);
    expect(params).toEqual({ containerId: 'run', location: items[0], timeout: '7' });
    expect(items[0]).toMatch(/\/checkpoints\/checkpoint-web_default-main-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.tar$/);
  });

  test('fails with the runtime’s error', async () => {
    node.response = () => {
      throw new KubusError('Unimplemented', 'unknown method CheckpointContainer for service runtime.v1.RuntimeService');
    };
    expect(await ask('/checkpoint/default/web/main')).toMatchObject({
      status: 500,
      text:
        'checkpointing of default/web/main failed (rpc error: code = Unimplemented desc = ' +
        'unknown method CheckpointContainer for service runtime.v1.RuntimeService)',
    });
  });

  test.each([
    ['/checkpoint/default/none/main', 404, 'pod does not exist'],
    ['/checkpoint/default/web/none', 404, 'container none does not exist'],
    ['/checkpoint/default/web/main?timeout=soon', 404, 'cannot parse value of timeout parameter'],
  ])('%s is %d', async (path, status, text) => {
    expect(await ask(path)).toMatchObject({ status, text });
    expect(node.asked).toEqual([]);
  });
});

describe('the process', () => {
  test('reports its start time and release', async () => {
    const { text } = await ask('/statusz', 'GET');
    expect(text).toMatch(/^\nkubelet statusz\nWarning: [^\n]+\n\nStarted: [^\n]+ GMT\nUp: 0 hr \d\d min \d\d sec\n/);
    expect(text).toMatch(/^Binary version: v1\.\d+\.\d+\+kubus\./m);
  });

  test.each(['v1beta1', 'v1alpha1'])('also reports them as a %s document', async (version) => {
    const headers = { accept: `application/json;v=${version};g=config.k8s.io;as=Statusz` };
    const answer = await get(node.api.ports.secure, '/statusz', { headers });
    expect(answer.headers['content-type']).toMatch('application/json');
    expect(answer.headers['warning'] === undefined).toBe(version === 'v1beta1');
    expect(JSON.parse(answer.text)).toEqual({
      ...{ kind: 'Statusz', apiVersion: `config.k8s.io/${version}`, metadata: { name: 'kubelet' } },
      startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as unknown,
      uptimeSeconds: expect.any(Number) as unknown,
      binaryVersion: expect.stringMatching(/^v1\.\d+\.\d+\+kubus\./) as unknown,
      emulationVersion: expect.stringMatching(/^1\.\d+$/) as unknown,
      paths: ['/configz', '/healthz', '/metrics', '/pods'],
    });
  });

  test('reports the flags that it was started with, if any', async () => {
    expect((await ask('/flagz', 'GET')).status).toBe(404);
    const flagz = join(node.folder, 'flagz.json');
    await writeFile(flagz, JSON.stringify({ v: '2', config: '/etc/it.yaml', empty: '' }));
    await node.start({ ...open, flagz });
    const { text } = await ask('/flagz', 'GET');
    expect(text).toMatch(/^\nkubelet flagz\nWarning: [^\n]+\nconfig=\/etc\/it.yaml\nempty=\nv=2\n$/);
    const json = { accept: 'application/json;v=v1beta1;g=config.k8s.io;as=Flagz' };
    expect(JSON.parse((await get(node.api.ports.secure, '/flagz', { headers: json })).text)).toEqual({
      ...{ kind: 'Flagz', apiVersion: 'config.k8s.io/v1beta1', metadata: { name: 'kubelet' } },
      flags: { v: '2', config: '/etc/it.yaml', empty: '' },
    });
    const other = { accept: 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz' };
    expect((await get(node.api.ports.secure, '/flagz', { headers: other })).status).toBe(406);
  });

  test.each([
    ['PUT', '/debug/flags/v', 200, 'flags endpoint is disabled.\n', { debugFlags: false }],
    ['GET', '/debug/flags/v', 406, 'flags endpoint is disabled.\n', { debugFlags: false }],
    ['GET', '/debug/pprof/cmdline', 200, 'profiling endpoint is disabled.\n', { profiling: false }],
  ])('%s %s is %d, and disabled when the configuration says so', async (method, path, status, disabled, switches) => {
    const body = method === 'PUT' ? '0' : '';
    await node.start(open);
    expect((await ask(path, method, body)).status).toBe(status);
    await node.start({ ...open, ...switches });
    expect(await ask(path, method, body)).toMatchObject({ status: 405, text: disabled });
  });
});

describe('/debug/flags/v', () => {
  beforeAll(() => node.start(open));

  const put = (body: string) => ask('/debug/flags/v', 'PUT', body);

  test.each(['0', '4', '007', '2147483647'])('accepts %s and publishes it to every service', async (asked) => {
    const text = `successfully set klog.logging.verbosity to ${asked}\n`;
    expect(await put(asked)).toMatchObject({ status: 200, text, headers: { 'x-content-type-options': 'nosniff' } });
    await poll('the log level is published', () => Promise.resolve(node.verbosity === Number(asked) || undefined));
  });

  test.each([
    ['', 'strconv.ParseUint: parsing "": invalid syntax'],
    ['-1', 'strconv.ParseUint: parsing "-1": invalid syntax'],
    ['4\n', 'strconv.ParseUint: parsing "4\\n": invalid syntax'],
    ['4294967296', 'strconv.ParseUint: parsing "4294967296": value out of range'],
    [
      '4294967295',
      'failed set klog.logging.verbosity 4294967295: strconv.ParseInt: parsing "4294967295": value out of range',
    ],
  ])('refuses %j and changes nothing', async (asked, text) => {
    await put('6');
    await poll('the log level is published', () => Promise.resolve(node.verbosity === 6 || undefined));
    expect(await put(asked)).toMatchObject({ status: 400, text: `${text}\n` });
    // Messages that are published in order arrive in order.
    await put('7');
    await poll('the next log level is published', () => Promise.resolve(node.verbosity === 7 || undefined));
    expect(node.verbosities.slice(-2)).toEqual([6, 7]);
  });

  test('reads no more than the longest number', async () => {
    const text = 'error reading request body: Request body is too large\n';
    expect(await put('1'.repeat(2_000))).toMatchObject({ status: 400, text });
  });
});
