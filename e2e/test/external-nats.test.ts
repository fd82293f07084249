import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connectNats, readSeed } from '@kubus/bus-nats';
import { type TestNode, checkout, isReady, startCommand, startNode } from '@kubus/harness';
import { Authority } from '@kubus/kube-fixture';
import { type NodeDir, natsFolder } from '@kubus/launcher';
import { pod } from '../src/pods.ts';

/** A NATS server of the machine, on its loopback, with the configuration of `kubus identities`. */
let folder: string;
let server: ChildProcess | undefined;
let port = -1;
const nodes: TestNode[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-nats-'));
});
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await killServer();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const files = () => natsFolder(join(folder, 'nats'));

async function startServer(): Promise<void> {
  const args = ['--config', files().config, '--port', String(port)];
  const child = spawn('nats-server', args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // JetStream's files go to the folder for temporary ones.
    env: { ...process.env, TMPDIR: folder },
  });
  server = child;
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (text: Buffer) => {
      log += text.toString();
      if (log.includes('Server is ready')) resolve();
    });
    child.once('exit', () => reject(new Error(`nats-server ended: ${log}`)));
  });
  port = Number(/Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(log)?.[1]);
}

async function killServer(): Promise<void> {
  const child = server;
  server = undefined;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function reloadServer(): Promise<void> {
  const reloaded = new Promise<void>((resolve) => {
    server?.stderr?.on('data', (text: Buffer) => text.includes('Reloaded server configuration') && resolve());
  });
  server?.kill('SIGHUP');
  await reloaded;
}

/** TLS settings of a server: options of `kubus identities`, and the file of the CA. */
interface Tls {
  readonly options: readonly string[];
  readonly ca: string;
}

async function makeTls(): Promise<Tls> {
  const authority = await Authority.create();
  const { certificate, key } = await authority.issue({ commonName: 'nats', addresses: ['127.0.0.1'] }, 'server');
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const options = ['--tls-cert', await file('cert.pem', certificate), '--tls-key', await file('key.pem', key)];
  return { options, ca: await file('ca.pem', authority.certificate) };
}

/** The commands of a user: create identities, start a server with them, and up. */
async function startOnServer(tls?: Tls): Promise<TestNode> {
  const environment = { KUBUS_NATS_FOLDER: join(folder, 'nats') };
  const prepare = async ({ node }: NodeDir) => {
    const program = join(checkout, 'packages/tools/cli/dist/main.mjs');
    const made = await startCommand(
      process.execPath,
      [program, '--node', node, 'identities', ...(tls?.options ?? [])],
      environment,
    ).outcome;
    expect(made).toMatchObject({ code: 0 });
    if (server === undefined) await startServer();
    // A new account is linked with the second reload.
    else for (const _time of [1, 2]) await reloadServer();
    // `up` of the harness takes no further options.
    const url = `${tls === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}`;
    Object.assign(process.env, environment, { KUBUS_NATS: url, ...(tls && { KUBUS_NATS_CA: tls.ca }) });
  };
  try {
    const node = await startNode({ prepare });
    nodes.push(node);
    return node;
  } finally {
    for (const name of ['KUBUS_NATS', 'KUBUS_NATS_CA', 'KUBUS_NATS_FOLDER']) Reflect.deleteProperty(process.env, name);
  }
}

/** How many streams a node has on the server. */
async function streamsOf(node: string): Promise<number> {
  const instance = 'streams-0';
  const seed = await readSeed(join(files().identities, node), instance);
  const connection = await connectNats({ servers: `nats://127.0.0.1:${port}`, instance, seed, once: true });
  try {
    return (await connection.request('$JS.API.INFO')).json<{ streams: number }>().streams;
  } finally {
    await connection.close();
  }
}

test('two nodes run their pods over one server that is killed and restarts empty', async () => {
  const [one, other] = [await startOnServer(), await startOnServer()];
  for (const node of [one, other]) {
    await node.writeManifest('before.json', pod('before'));
    await node.watch.waitForPod('before', isReady, 'ready');
    expect(await node.process('nats-server')).toBeUndefined();
  }
  expect((await one.kubus('status')).code).toBe(0);
  const listed = await one.kubus('get', 'pods', '--output', 'json');
  expect(listed.stdout).toContain(one.name);
  expect(listed.stdout).not.toContain(other.name);

  await killServer();
  await one.writeManifest('after.json', pod('after'));
  await startServer();
  await one.watch.waitForPod('after', isReady, 'ready');
  await one.replaced(await one.kill('nats-relay'));
  await one.writeManifest('again.json', pod('again'));
  await one.watch.waitForPod('again', isReady, 'ready');

  nodes.splice(nodes.indexOf(one), 1);
  await one.stop();
  expect([await streamsOf(one.name), await streamsOf(other.name)]).toEqual([0, 2]);
});

test('a node uses TLS with a server whose certificate it trusts', async () => {
  const node = await startOnServer(await makeTls());
  await node.writeManifest('apart.json', pod('apart'));
  await node.watch.waitForPod('apart', isReady, 'ready');
  expect((await node.kubus('status')).code).toBe(0);
});

test('a node without an identity on the server is not started, with the reason', async () => {
  const program = join(checkout, 'packages/tools/cli/dist/main.mjs');
  const up = (url: string, natsFolderPath: string) => {
    const args = ['--node', 'nowhere', 'up', '--nats', url, '--nats-folder', natsFolderPath];
    const environment = { KUBUS_LIB_DIR: join(folder, 'lib'), KUBUS_RUN_DIR: join(folder, 'run') };
    return startCommand(process.execPath, [program, ...args], environment).outcome;
  };
  const without = await up('nats://127.0.0.1:1', join(folder, 'none'));
  expect(without.code).toBe(1);
  expect(without.stderr).toMatch(
    /^kubus: Node nowhere has no keys for config-sources-0, .* in \S+: create them with "kubus identities".*\n$/,
  );
  const refused = await startCommand(process.execPath, [program, '--node', 'nowhere', 'identities'], {
    KUBUS_NATS_FOLDER: join(folder, 'unread'),
  }).outcome;
  expect(refused.code).toBe(0);
  const unreachable = await up('nats://127.0.0.1:1', join(folder, 'unread'));
  expect(unreachable.code).toBe(1);
  expect(unreachable.stderr).toMatch(
    /^kubus: NATS at nats:\/\/127\.0\.0\.1:1 cannot be reached \(.*\): start the server.*\n$/,
  );
  const elsewhere = await up('http://127.0.0.1:1', join(folder, 'unread'));
  expect(elsewhere.stderr).toMatch(/^kubus: "http:.*use nats:/);
});
