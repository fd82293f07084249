// Commands, terminals and ports of containers by the command line, through the node's socket.
import { afterEach, expect } from '@jest/globals';
import { type TestNode, kubusProgram, poll } from '@kubus/harness';
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type Socket, connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { onNode } from './node.ts';
import { container, pod, podRunning, shell } from '../../src/pods.ts';

const execFileAsync = promisify(execFile);

const children: ChildProcessWithoutNullStreams[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Starts a program on the node, with pipes; it is killed after the test. */
function start(node: TestNode, program: string, ...args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, ...node.environment } });
  children.push(child);
  return child;
}

const startKubus = (node: TestNode, ...args: string[]) => start(node, process.execPath, kubusProgram, ...args);

/** Collects output, and waits for it. */
function listen(child: ChildProcessWithoutNullStreams, stream: 'stdout' | 'stderr' = 'stdout') {
  let said = '';
  child[stream].setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  return async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(said);
      if (match !== null) return match;
      if (child.exitCode !== null)
        throw new Error(`it has ended (${child.exitCode}) without ${String(pattern)}: ${said}`);
      await Promise.race([once(child[stream], 'data'), once(child, 'close')]);
    }
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

onNode('a command receives and sends random bytes exactly, and the end of its input', async (node) => {
  await node.writeManifest('web.json', pod('web'));
  await node.watch.waitForPod('web');
  const bytes = randomBytes(10 * 1024 * 1024);
  const child = startKubus(node, 'exec', '-i', 'web', '--', 'sh', '-c', 'cat; echo over >&2; exit 9');
  child.stdin.end(bytes);
  const ended = once(child, 'close');
  const [back, said] = await Promise.all([buffer(child.stdout), text(child.stderr)]);
  expect([sha256(back), said, (await ended)[0]]).toEqual([sha256(bytes), 'over\n', 9]);

  expect(await node.kubus('exec', 'web', '--', 'no-such-program')).toMatchObject({ code: 1, stdout: '' });
  expect(await node.kubus('exec', 'web', '-c', 'none', '--', 'ls')).toMatchObject({
    code: 1,
    stderr: `kubus: container none is not valid for pod web-${node.name} out of: main\n`,
  });
  // Without -i, nothing is sent, and a command that reads gets end of file at once.
  expect(await node.kubus('exec', 'web', '--', 'cat')).toEqual({ code: 0, stdout: '', stderr: '' });
});

onNode('a command in a terminal is interactive, and has the size of the terminal that shows it', async (node) => {
  await node.writeManifest('screen.json', pod('screen'));
  await node.watch.waitForPod('screen');
  const inside = [
    // stty reports an error while the terminal has no size.
    'size() { until [ "$(stty size 2>&-)" = "$1" ]; do sleep 0.1; done; echo "sized $1"; }',
    'tty; size "33 101"; size "44 90"; read -r word; echo "got $word"; exit 5',
  ];
  const exec = `${process.execPath} ${kubusProgram} exec -it screen -- sh -c '${inside.join('; ')}'`;
  const outside = `echo "mine $(tty)"; stty rows 33 cols 101; ${exec}`;
  const child = start(node, 'script', '--quiet', '--return', '--command', outside, '/dev/null');
  const ended = once(child, 'close');
  const said = listen(child);
  const [, terminal = ''] = await said(/mine (\/dev\/\S+)/);
  await said(/\/dev\/pts\/\d+\s+sized 33 101/);
  await execFileAsync('stty', ['-F', terminal, 'rows', '44', 'cols', '90']);
  await said(/sized 44 90/);
  child.stdin.write('a word\n');
  await said(/got a word/);
  expect(await ended).toEqual([5, null]);
});

onNode('attach reaches a process that is already running', async (node) => {
  const talking = { name: 'main', stdin: true, command: shell('while read -r word; do echo "heard $word"; done') };
  await node.writeManifest('talking.json', pod('talking', { containers: [container(talking)] }));
  await node.watch.waitForPod('talking');
  const child = startKubus(node, 'attach', '-i', 'talking');
  const said = listen(child);
  child.stdin.write('one\n');
  await said(/heard one/);
  child.stdin.write('two\n');
  await said(/heard two/);
});

onNode('ports are forwarded, each connection by itself, until the pod is removed', async (node) => {
  await node.writeManifest('echo.json', podRunning('echo', 'exec nc -ll -p 7000 -e cat'));
  await node.watch.waitForPod('echo');
  const child = startKubus(node, 'port-forward', 'echo', ':7000', ':7001');
  const ended = once(child, 'close');
  const [said, errors] = [listen(child), listen(child, 'stderr')];
  const open = async (port: number) => {
    const [, local] = await said(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${port}`));
    const socket = connect({ host: '127.0.0.1', port: Number(local) });
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  const echo = async (bytes: Buffer) => {
    const socket = await open(7000);
    socket.write(bytes);
    const back: Buffer[] = [];
    let left = bytes.length;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      back.push(chunk);
      if ((left -= chunk.length) <= 0) break;
    }
    return Buffer.concat(back);
  };
  const echoed = async () => {
    const bytes = randomBytes(3 * 1024 * 1024);
    expect(sha256(await echo(bytes))).toBe(sha256(bytes));
  };
  // It is running, but may not listen yet.
  await poll('the pod listens', () =>
    echo(Buffer.from('there')).then(
      (back) => back.toString() === 'there' || undefined,
      () => undefined,
    ),
  );

  const documented = startKubus(node, 'port-forward', 'echo', ':7000', '-o', 'json');
  const [document] = await listen(documented)(/^\{[^]*\n\}\n/);
  expect(JSON.parse(document)).toMatchObject({
    ...{ apiVersion: 'kubus.dev/v1', kind: 'ForwardedPorts' },
    items: [{ address: '127.0.0.1', port: expect.any(Number), remote: 7000 }],
  });

  const nobody = await open(7001);
  await Promise.all([once(nobody.resume(), 'close'), echoed(), echoed()]);
  await errors(/an error occurred forwarding \d+ -> 7001: .*refused/);
  await echoed();

  const left = await open(7000);
  left.write('so far');
  await once(left, 'data');
  await node.removeManifest('echo.json');
  await once(left, 'close');
  await node.watch.waitForNoPod('echo');
  await open(7000);
  expect(await ended).toEqual([1, null]);
  await errors(/lost connection to pod echo-\S+: it no longer exists/);
});

onNode('resource usage is shown by pod, container and node', async (node) => {
  const containers = [
    container({ name: 'burns', command: shell('while :; do :; done') }),
    container({ name: 'sleeps' }),
  ];
  await node.writeManifest('busy.json', pod('busy', { containers }));
  const { ref } = await node.watch.waitForPod('busy');
  const rows = async (...args: string[]) => {
    const { stdout } = await node.kubus('top', ...args);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
  };
  // A rate is computed between two samples: the first one may contain little of a process that has just started.
  const busy = await poll('the usage of the busy container is visible', async () => {
    const shown = await rows('pods', '--containers', '--sort-by', 'cpu');
    return Number.parseInt(shown[1]?.[2] ?? '', 10) > 100 ? shown : undefined;
  });
  expect(busy).toEqual([
    ['POD', 'NAME', 'CPU(cores)', 'MEMORY(bytes)'],
    [ref.name, 'burns', expect.stringMatching(/^\d+m$/), expect.stringMatching(/^\d+Mi$/)],
    [ref.name, 'sleeps', expect.stringMatching(/^\d{1,2}m$/), expect.stringMatching(/^\d+Mi$/)],
  ]);
  const [, whole = []] = await rows('node');
  expect(whole).toEqual([
    node.name,
    ...[/^\d{3,}m$/, /^[1-9]\d*%$/, /^\d+Mi$/, /^\d+%$/].map((one): unknown => expect.stringMatching(one)),
  ]);
});

onNode('the socket is accessible to its owner only', async (node) => {
  const socket = node.dir.socket('api');
  expect(await stat(socket)).toMatchObject({ uid: 0, mode: 0o140600 });
  const program = `require('node:net').connect(process.argv[1]).on('error', ({ code }) => console.log(code))`;
  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, '-e', program, socket];
  expect((await execFileAsync('setpriv', asNobody)).stdout).toBe('EACCES\n');
  expect(await node.kubus('exec', 'nobody', '--', 'ls')).toMatchObject({
    code: 1,
    stderr: 'kubus: pods "nobody" not found in namespace "default"\n',
  });
});
