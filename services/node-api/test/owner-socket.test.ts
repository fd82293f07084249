// The node API on its unix socket, which only the node's owner may use.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, stat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { ApiNode, podNamed, runOf } from './api-node.ts';

const pod = podNamed('web');
let node: ApiNode;
let socket: string;
/** Without authorization and without a TCP port, as on a node that is not in a cluster. */
const alone = () => ({ socket, port: undefined });

beforeAll(async () => {
  node = await ApiNode.make();
  // Other users can pass through the folder, so that only the socket itself refuses them.
  socket = join(node.folder, 'run', 'api.sock');
  await execFileAsync('chmod', ['711', node.folder]);
  await mkdir(join(node.folder, 'run'), { mode: 0o711 });
  node.want('file', pod);
  await writeFile(join(node.folder, '0.log'), '2030-01-01T00:00:00Z stdout F hello\n');
  node.runs(pod, [runOf('run', join(node.folder, '0.log'))]);
  node.status(pod, { phase: 'Running', containerStatuses: [statusOf('main')] });
});
afterAll(() => node.remove());

const execFileAsync = promisify(execFile);

function statusOf(name: string) {
  return {
    ...{ name, image: 'busybox', imageID: 'sha256:abc', containerID: 'containerd://run', restartCount: 0, ready: true },
    ...{ started: true, state: { running: { startedAt: '2030-01-01T00:00:00Z' } }, lastState: {} },
  };
}

async function ask(path: string): Promise<{ status: number | undefined; body: string }> {
  const asking = request({ socketPath: socket, path, agent: false }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

test('serves the routes of the API without a TCP port and an API server, and replaces an earlier socket', async () => {
  await mkdir(`${socket}.new`);
  await writeFile(socket, 'left over');
  const { ports } = await node.start(alone());
  expect(ports.secure).toBe(0);
  expect(await ask('/pods')).toMatchObject({ status: 200, body: expect.stringContaining('"uid-web"') as unknown });
  expect(await ask('/healthz/ping')).toEqual({ status: 200, body: 'ok' });
  expect(await ask('/nothing')).toMatchObject({ status: 404 });
  await expect(access(`${socket}.new`)).rejects.toThrow('ENOENT');
});

test('reports the reader of a log', async () => {
  await node.start(alone());
  node.events.length = 0;
  expect(await ask('/containerLogs/default/web/main')).toEqual({ status: 200, body: 'hello\n' });
  await node.untilEvents(() => node.events.length === 2);
  expect(node.events).toMatchObject([{ user: 'system:node-admin' }, { user: 'system:node-admin', what: 'ended' }]);
});

test('can be opened by its owner only', async () => {
  await node.start(alone());
  expect((await stat(socket)).mode & 0o777).toBe(0o600);
  const connect = `require('net').connect(process.argv[1], () => process.exit(0)).on('error', ({code}) => { console.log(code); process.exit(1); })`;
  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, '-e', connect, socket];
  await expect(execFileAsync('setpriv', asNobody)).rejects.toMatchObject({ stdout: 'EACCES\n' });
});

test('is removed when the API stops', async () => {
  await (await node.start(alone())).stop();
  await expect(access(socket)).rejects.toThrow('ENOENT');
});
