// Commands, terminals and ports of containers, as kubectl uses them through an API server.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { isReady } from '@kubus/kube-fixture';
import { type TestCluster, type TestNode, poll } from '@kubus/harness';
import { apiSocket } from '@kubus/launcher';
import { busyboxReference } from '@kubus/node-images';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer, text } from 'node:stream/consumers';
import { ChannelSocket, channels } from '../src/channel-socket.ts';
import { kubectl, sharedClusterNode } from '../src/cluster-node.ts';
import { podRunning } from '../src/pods.ts';

const MB = 1024 * 1024;

let cluster: TestCluster;
let node: TestNode;
let folder: string;
const children: ChildProcess[] = [];
const channelSockets: ChannelSocket[] = [];

sharedClusterNode({}, async (started) => {
  ({ node, cluster } = started);
  folder = await mkdtemp(join(tmpdir(), 'kubus-streams-'));
});
beforeAll(async () => {
  await create(
    'web',
    'mkdir /www; cd /www; httpd -f -p 8080 & nc -ll -p 7000 -e cat & trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done',
    { readinessProbe: { tcpSocket: { port: 7000 }, periodSeconds: 1 } },
  );
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const socket of channelSockets.splice(0)) socket.destroy();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function create(name: string, script: string, container: object = {}): Promise<void> {
  const { spec, ...rest } = podRunning(name, script) as { spec: { containers: object[] } };
  const containers = spec.containers.map((one) => ({ ...one, ...container }));
  await cluster.api.create({ ...rest, spec: { ...spec, containers, nodeName: node.name } });
  await cluster.api.waitFor({ kind: 'Pod', name }, isReady);
}

/** Starts kubectl; it is killed after the test. */
function start(...args: string[]) {
  const child = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, ...args], { stdio: 'pipe' });
  children.push(child);
  return child;
}

/** Starts kubectl in a terminal of its own (script(1)). */
function startInTerminal(...args: string[]) {
  const words = ['kubectl', '--kubeconfig', cluster.kubeconfig, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', words, '/dev/null'], { stdio: 'pipe' });
  children.push(child);
  return child;
}

/** Connects to the node by a WebSocket, which the runtime serves; it ends after the test. */
async function connect(path: string, query: [name: string, value: string][], ...protocols: string[]) {
  const url = `${path}?${new URLSearchParams(query).toString()}`;
  const socket = await ChannelSocket.open(apiSocket(node.dir), url, protocols);
  channelSockets.push(socket);
  return socket;
}

function connectExec(script: string, streams: string[], ...protocols: string[]) {
  const command = ['sh', '-c', script].map((word): [string, string] => ['command', word]);
  return connect(
    '/exec/default/web/main',
    [...command, ...streams.map((one): [string, string] => [one, '1'])],
    ...protocols,
  );
}

async function sha256(source: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** No connection of the node's API is open any more. */
const nothingOpen = () =>
  poll('nothing is open', async () => {
    const { body } = await node.http('node-api-0', 'metrics');
    return /^kubus_node_api_streams(\{.*\})? 0$/m.test(body) || undefined;
  });

describe('a command', () => {
  test('has its output, its errors separately, and its exit code', async () => {
    const said = await kubectl(cluster, ['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect(said).toMatchObject({ code: 3, stdout: 'out\n' });
    expect(said.stderr).toContain('err\n');
  });

  test('receives and sends random bytes exactly', async () => {
    const bytes = randomBytes(8 * MB);
    const child = start('exec', '-i', 'web', '--', 'cat');
    child.stdin.end(bytes);
    const [back] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
    expect(createHash('sha256').update(back).digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  test('in a terminal is interactive', async () => {
    const child = startInTerminal('exec', '-it', 'web', '--', 'sh');
    const said = text(child.stdout);
    child.stdin.write('tty; echo sum $((40 + 2)); exit 5\n');
    const [code] = (await once(child, 'close')) as [number];
    expect(await said).toMatch(/\/dev\/pts\/\d+[\s\S]*sum 42/);
    expect(code).toBe(5);
  });

  test('ends in the container when its client is killed, and leaves nothing open', async () => {
    const child = start('exec', '-i', 'web', '--', 'sh', '-c', 'echo begun; cat; echo $? > /tmp/over');
    await once(createInterface(child.stdout), 'line');
    child.kill('SIGKILL');
    await nothingOpen();
    await poll('the command is over', async () => {
      const { stdout } = await kubectl(cluster, ['exec', 'web', '--', 'cat', '/tmp/over']);
      return stdout === '0\n' || undefined;
    });
  });

  test('run twenty times at once has its own output each time', async () => {
    const runs = Array.from({ length: 20 }, (_, index) =>
      kubectl(cluster, ['exec', 'web', '--', 'echo', String(index)]),
    );
    const said = await Promise.all(runs);
    expect(said.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 20 }, (_, index) => `${index}\n`));
  });

  test('that cannot be run is reported as such', async () => {
    expect(await kubectl(cluster, ['exec', 'web', '--', 'no-such-program'])).toMatchObject({ code: 1 });
    expect((await kubectl(cluster, ['exec', 'web', '-c', 'none', '--', 'ls'])).stderr).toContain('none');
  });
});

test('100 MB are copied in and out unchanged', async () => {
  const file = join(folder, 'big');
  await writeFile(file, randomBytes(100 * MB));
  const sum = await sha256(createReadStream(file));
  expect(await kubectl(cluster, ['cp', file, 'web:/www/big'])).toMatchObject({ code: 0, stderr: '' });
  const inside = await kubectl(cluster, ['exec', 'web', '--', 'sha256sum', '/www/big']);
  expect(inside.stdout).toContain(sum);
  expect(await kubectl(cluster, ['cp', 'web:/www/big', `${file}-back`])).toMatchObject({ code: 0, stderr: '' });
  expect(await sha256(createReadStream(`${file}-back`))).toBe(sum);
});

test('a port is forwarded for many connections at once', async () => {
  await kubectl(cluster, ['exec', 'web', '--', 'sh', '-c', 'head -c 3000000 /dev/urandom > /www/some']);
  const { stdout } = await kubectl(cluster, ['exec', 'web', '--', 'sha256sum', '/www/some']);
  const child = start('port-forward', 'pod/web', ':8080');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? '';
  const sums = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { body } = await fetch(`http://127.0.0.1:${port}/some`);
      return body === null ? '' : sha256(body);
    }),
  );
  expect(new Set(sums)).toEqual(new Set([stdout.split(' ')[0]]));
  child.kill('SIGTERM');
  await nothingOpen();
});

test('attach reaches a process that is already running', async () => {
  await create('talking', 'while read line; do echo "heard $line"; done', { stdin: true });
  const child = start('attach', '-i', 'talking');
  const lines = createInterface(child.stdout);
  child.stdin.write('one\n');
  expect(await once(lines, 'line')).toEqual(['heard one']);
  child.kill('SIGKILL');
  await nothingOpen();
});

test('kubectl run in a terminal deletes the pod when its command has ended', async () => {
  const flags = ['-it', '--rm', '--restart=Never', `--image=${busyboxReference}`];
  const child = startInTerminal(
    'run',
    'once',
    ...flags,
    '--',
    'sh',
    '-c',
    'read -r word; tty; echo "got $word"; exit 4',
  );
  const said = text(child.stdout);
  child.stdin.write('something\n');
  const [code] = (await once(child, 'close')) as [number];
  expect(await said).toMatch(/\/dev\/[\s\S]*got something[\s\S]*pod "once" deleted/);
  expect(code).toBe(4);
  await cluster.api.waitGone({ kind: 'Pod', name: 'once' });
});

describe('over a WebSocket', () => {
  const [V4, V5] = ['v4.channel.k8s.io', 'v5.channel.k8s.io'];

  test('a command receives and sends random bytes exactly, its errors separately, and its exit code', async () => {
    const bytes = randomBytes(4 * MB);
    const script = `head -c ${bytes.length}; echo err >&2; exit 7`;
    const socket = await connectExec(script, ['input', 'output', 'error'], V4);
    await socket.send(channels.stdin, bytes);
    await socket.ended();
    expect(socket.received(channels.stdout).equals(bytes)).toBe(true);
    expect(socket.received(channels.stderr).toString()).toBe('err\n');
    expect(JSON.parse(socket.received(channels.error).toString())).toMatchObject({
      ...{ status: 'Failure', reason: 'NonZeroExitCode' },
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
    await nothingOpen();
  });

  test('a terminal has the size that is sent', async () => {
    const size = 'until [ "$(stty size)" = "44 90" ]; do sleep 0.1; done; echo sized';
    const socket = await connectExec(`${size}; read -r word; echo "got $word"`, ['input', 'output', 'tty'], V4);
    const saw = (pattern: RegExp) => socket.until(() => pattern.test(socket.received(channels.stdout).toString()));
    await socket.send(channels.resize, Buffer.from('{"Width":90,"Height":44}'));
    await saw(/^sized/m);
    await socket.send(channels.stdin, Buffer.from('a word\n'));
    await saw(/^got a word/m);
    await socket.ended();
    expect(JSON.parse(socket.received(channels.error).toString())).toMatchObject({ status: 'Success' });
  });

  test('attach reaches a process that is already running', async () => {
    await create('heard', 'while read line; do echo "heard $line"; echo "not $line" >&2; done', { stdin: true });
    const streams = ['input', 'output', 'error'].map((one): [string, string] => [one, '1']);
    const socket = await connect('/attach/default/heard/main', streams, V4);
    const saw = (channel: number, text: string) =>
      socket.until(() => socket.received(channel).toString().includes(text));
    await socket.send(channels.stdin, Buffer.from('one\n'));
    await Promise.all([saw(channels.stdout, 'heard one\n'), saw(channels.stderr, 'not one\n')]);
    socket.destroy();
    await nothingOpen();
    // A client that connects later receives it, too.
    const next = await connect('/attach/default/heard/main', streams, V4);
    await next.send(channels.stdin, Buffer.from('two\n'));
    await next.until(() => next.received(channels.stdout).toString() === 'heard two\n');
  });

  test('the protocol is that of the runtime, and no other is announced', async () => {
    const both = await connectExec('echo out', ['output'], V5, V4);
    await both.ended();
    expect(both.received(channels.stdout).toString()).toBe('out\n');
    expect([V4, V5]).toContain(both.protocol);
    const newest = connectExec('echo out', ['output'], V5).then(
      ({ protocol }) => protocol,
      (error: unknown) => String(error),
    );
    expect(await newest).toMatch(both.protocol === V5 ? V5 : /Unexpected server response: 403/);
  });

  test('a port is forwarded, and failures there are reported', async () => {
    // The even channel of each port carries bytes, the odd one its error; both start with its number.
    const bytes = randomBytes(3 * MB);
    const socket = await connect(
      '/portForward/default/web',
      [
        ['port', '7000'],
        ['port', '7001'],
      ],
      V4,
    );
    const came = (channel: number, count: number) => socket.until(() => socket.received(channel).length >= count);
    const [sent] = await Promise.all([socket.send(0, bytes).then(() => 'all'), came(0, 2 + bytes.length), came(3, 3)]);
    expect([sent, socket.received(0).readUInt16LE(), socket.received(2).readUInt16LE()]).toEqual(['all', 7000, 7001]);
    expect(socket.received(0).subarray(2).equals(bytes)).toBe(true);
    expect(socket.received(3).subarray(2).toString()).toContain('refused');
    socket.destroy();
    await nothingOpen();
  });
});
