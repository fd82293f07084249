import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import {
  MAX_NODES,
  connectNats,
  defaultRecordLimits,
  ensureStreams,
  identityFile,
  inboxPrefix,
  readSeed,
} from '@kubus/bus-nats';
import { Authority } from '@kubus/kube-fixture';
import { answerDiscovery, systemClock } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import * as z from 'zod';
import { runCommand } from '../src/processes/command.ts';
import { checkNats, leaveNats } from '../src/nats/external-nats.ts';
import { type NatsFolder, addNode, identitiesOf, natsFolder, takeIdentities } from '../src/nats/nats-folder.ts';
import { identitiesFolder } from '../src/node/node-settings.ts';
import { afterTest, testNode } from './support.ts';

let path: string;
let folder: NatsFolder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'kubus-launcher-'));
  folder = natsFolder(join(path, 'nats'));
});
afterEach(() => rm(path, { recursive: true, force: true }));

/** A server on a port of the loopback that the system chooses, with a configuration file as it is. */
async function startServer(
  config = folder.config,
): Promise<{ url: string; child: ChildProcess; says: (text: string, times?: number) => Promise<void> }> {
  const args = ['--config', config, '--port', '-1'];
  // JetStream's files go to the folder for temporary ones.
  const env = { ...process.env, TMPDIR: path };
  const child = spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  const ended = once(child, 'exit');
  afterTest(async () => {
    child.kill();
    await ended;
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const failed = ended.then(() => Promise.reject(new Error(`nats-server ended: ${log}`)));
  failed.catch(() => undefined);
  const says = async (text: string, times = 1) => {
    while (log.split(text).length <= times) await Promise.race([once(child.stderr, 'data'), failed]);
  };
  await says('Server is ready');
  const port = /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(log)?.[1] ?? '';
  return { url: `nats://127.0.0.1:${port}`, child, says };
}

/** How a node of the folder uses a server. */
function use(url: string, node: string) {
  return { url, node, identities: join(folder.identities, node) };
}

async function connectAs(url: string, node: string, instance: string): Promise<NatsConnection> {
  const seed = await readSeed(join(folder.identities, node), instance);
  const connection = await connectNats({ servers: url, instance, seed, once: true });
  afterTest(() => connection.close());
  return connection;
}

describe('the folder of identities', () => {
  test('has keys and a valid server configuration that does not depend on this machine', async () => {
    expect(await addNode(folder, 'node0')).toEqual(['node0']);
    const config = await readFile(folder.config, 'utf8');
    expect(config).not.toContain(path);
    // A whole word: a public key may have these letters within.
    const secret = /\bSU[A-Z2-7]{56}\b/;
    expect(config).not.toMatch(secret);
    await runCommand(['nats-server', '-t', '-c', folder.config]);
    const seed = identityFile(await identitiesOf(folder, 'node0'), 'launcher-0');
    expect(await readFile(seed, 'utf8')).toMatch(secret);
    for (const file of [folder.config, seed]) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(dirname(seed).startsWith(dirname(folder.config))).toBe(false);
  });

  test('keeps the keys of its nodes when nodes are added', async () => {
    await addNode(folder, 'node1.example');
    const file = identityFile(join(folder.identities, 'node1.example'), 'cli-0');
    const before = await readFile(file, 'utf8');
    expect(await addNode(folder, 'node0')).toEqual(['node0', 'node1.example']);
    expect(await addNode(folder, 'node1.example')).toEqual(['node0', 'node1.example']);
    expect(await readFile(file, 'utf8')).toBe(before);
    await runCommand(['nats-server', '-t', '-c', folder.config]);
  });

  test('has room for as many nodes as the server', async () => {
    for (let count = 0; count < MAX_NODES; count++) {
      await mkdir(join(folder.identities, `node${count}`), { recursive: true });
    }
    await expect(addNode(folder, 'one-more')).rejects.toMatchObject({ code: 'TooManyNodes' });
  });

  test('keeps a damaged key and names its file', async () => {
    await addNode(folder, 'node0');
    const file = identityFile(join(folder.identities, 'node0'), 'cli-0');
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replace(/^(.{20})./, (_, kept: string) => `${kept}1`),
    );
    await expect(addNode(folder, 'node0')).rejects.toThrow(`${file} holds no identity of cli-0`);
    expect(await readFile(file, 'utf8')).toContain('1');
  });

  test('refuses an invalid name', async () => {
    await expect(addNode(folder, '../x')).rejects.toMatchObject({ code: 'InvalidNodeName' });
  });

  test('gives a node all of its keys or fails', async () => {
    const dir = await testNode();
    await expect(identitiesOf(folder, dir.node)).rejects.toMatchObject({
      code: 'NoIdentities',
      message: expect.stringMatching(`Node ${dir.node} .*kubus identities`) as unknown,
    });
    await addNode(folder, dir.node);
    const identities = await identitiesOf(folder, dir.node);
    await takeIdentities(identities, dir);
    const own = identityFile(identitiesFolder(dir), 'sync-loop-0');
    expect(await readFile(own, 'utf8')).toBe(await readFile(identityFile(identities, 'sync-loop-0'), 'utf8'));
    expect((await stat(own)).mode & 0o777).toBe(0o600);
    await rm(identityFile(identities, 'cni-bridge-0'));
    await expect(identitiesOf(folder, dir.node)).rejects.toMatchObject({ code: 'NoIdentities' });
  });
});

describe('an external NATS server', () => {
  test('serves a node that is added while it runs', async () => {
    await addNode(folder, 'a');
    const { url, child, says } = await startServer();
    await checkNats(use(url, 'a'));
    await addNode(folder, 'b');
    await expect(checkNats(use(url, 'b'))).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: `NATS at ${url} does not accept the identities of node b: start the server with the configuration that "kubus identities" writes, or reload it twice`,
    });
    child.kill('SIGHUP');
    await says('Reloaded server configuration');
    // nats-server imports services into a new account with the second reload only.
    await expect(checkNats(use(url, 'b'))).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: `NATS at ${url} has not linked the accounts of node b: reload the server once more`,
    });
    child.kill('SIGHUP');
    await says('Reloaded server configuration', 2);
    await checkNats(use(url, 'b'));
    await ensureStreams(await connectAs(url, 'b', 'streams-0'), 'b', defaultRecordLimits);
  });

  test('isolates two nodes, and one can be removed without the other', async () => {
    await addNode(folder, 'a');
    await addNode(folder, 'b');
    const { url } = await startServer();
    const launchers = { a: await connectAs(url, 'a', 'launcher-0'), b: await connectAs(url, 'b', 'launcher-0') };
    const managers = { a: await connectAs(url, 'a', 'streams-0'), b: await connectAs(url, 'b', 'streams-0') };
    for (const node of ['a', 'b'] as const) {
      await ensureStreams(managers[node], node, defaultRecordLimits);
      const metadata = { node };
      const description = {
        service: 'launcher',
        instance: 'launcher-0',
        version: '0.0.0',
        description: node,
        metadata,
      };
      answerDiscovery(launchers[node], { ...description, stats: () => ({ requests: 0, errors: 0 }) }, systemClock);
      await launchers[node].flush();
    }
    // One with the same name and keys, such as on another machine, is not started beside it.
    await expect(checkNats(use(url, 'a'))).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: expect.stringMatching(
        / is used by a running node a already: stop that one, or start this one with another/,
      ),
    });
    // Instances have the same names on every node: a client receives those of its own node only.
    const people = await connectAs(url, 'a', 'cli-0');
    const inbox = `${inboxPrefix('cli-0')}.x`;
    const answers: unknown[] = [];
    people.subscribe(inbox, {
      callback: (_error, message) => void answers.push(message.json<{ metadata: unknown }>().metadata),
    });
    people.publish('$SRV.PING', undefined, { reply: inbox });
    await people.flush();
    await launchers.a.flush();
    await launchers.b.flush();
    await people.flush();
    expect(answers).toEqual([{ node: 'a' }]);

    const streams = async (node: 'a' | 'b') => {
      const answer = await managers[node].request('$JS.API.INFO');
      return answer.json<{ streams: number }>().streams;
    };
    expect([await streams('a'), await streams('b')]).toEqual([2, 2]);
    await leaveNats(use(url, 'a'));
    await leaveNats(use(url, 'a'));
    expect([await streams('a'), await streams('b')]).toEqual([0, 2]);
  });

  test('is verified by the name in its certificate, and used over TLS only', async () => {
    const authority = await Authority.create();
    const subject = { commonName: 'nats', dnsNames: ['nats.example'], addresses: ['127.0.0.1'] };
    const { certificate, key } = await authority.issue(subject, 'server');
    const [cert, keyFile, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => join(path, name)) as [
      string,
      string,
      string,
    ];
    for (const [file, text] of [
      [cert, certificate],
      [keyFile, key],
      [ca, authority.certificate],
    ] as const) {
      await writeFile(file, text, { mode: 0o600 });
    }
    await addNode(folder, 'a', {}, { host: '127.0.0.1', tls: { cert, key: keyFile } });
    const { url: plain } = await startServer();
    const url = plain.replace('nats:', 'tls:');
    await checkNats({ ...use(url, 'a'), ca });
    await expect(checkNats(use(url, 'a'))).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: expect.stringMatching(/cannot be reached \(.*certificate/) as unknown,
    });
    const seed = await readSeed(join(folder.identities, 'a'), 'launcher-0');
    const connect = (tls: object) => connectNats({ servers: url, tls, instance: 'launcher-0', seed, once: true });
    for (const serverName of ['nats.example', '127.0.0.1']) await (await connect({ ca, serverName })).close();
    for (const serverName of ['other.example', '127.0.0.2']) {
      await expect(connect({ ca, serverName })).rejects.toThrow(/does not match certificate/);
    }
    const expired = await authority.issue(subject, 'server', -60_000);
    await writeFile(cert, expired.certificate);
    await writeFile(keyFile, expired.key);
    const { url: late } = await startServer();
    await expect(checkNats({ ...use(late.replace('nats:', 'tls:'), 'a'), ca })).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: expect.stringMatching(/cannot be reached \(.*expired/) as unknown,
    });
    const bare = join(path, 'bare.conf');
    await writeFile(bare, (await readFile(folder.config, 'utf8')).replace(/^tls: .*$/m, ''));
    const { url: without } = await startServer(bare);
    await expect(checkNats({ ...use(without.replace('nats:', 'tls:'), 'a'), ca })).rejects.toMatchObject({
      code: 'NatsUnusable',
    });
  });

  test('that is reachable from other machines requires TLS', async () => {
    await expect(addNode(folder, 'a', {}, { host: '0.0.0.0' })).rejects.toMatchObject({ code: 'NoTls' });
    await expect(stat(folder.config)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('that cannot be used is reported with the cause', async () => {
    await addNode(folder, 'a');
    const unreachable = 'nats://127.0.0.1:1';
    for (const attempt of [checkNats, leaveNats]) {
      await expect(attempt(use(unreachable, 'a'))).rejects.toMatchObject({
        code: 'NatsUnusable',
        message: expect.stringMatching(
          `^NATS at ${unreachable} cannot be reached \\(.+\\): start the server`,
        ) as unknown,
      });
    }
    const bare = (await readFile(folder.config, 'utf8')).replaceAll(/^ *jetstream: .*$/gm, '');
    await writeFile(join(path, 'bare.conf'), bare);
    const { url } = await startServer(join(path, 'bare.conf'));
    await expect(checkNats(use(url, 'a'))).rejects.toMatchObject({
      code: 'NatsUnusable',
      message: expect.stringMatching(`^NATS at ${url} offers no JetStream to node a`) as unknown,
    });
  });
});

const composeSchema = z.object({
  services: z.object({
    nats: z.object({
      image: z.string(),
      command: z.array(z.string()),
      environment: z.object({ TMPDIR: z.string() }),
      volumes: z.tuple([z.object({ source: z.string(), target: z.string() }), z.string()]),
      ports: z.array(z.string()),
      healthcheck: z.object({ test: z.array(z.string()) }),
    }),
  }),
});

test('examples/nats/docker-compose.yml starts a server with the folder’s configuration, reachable from this machine alone', async () => {
  const checkout = resolve(import.meta.dirname, '../../../..');
  const example = join(checkout, 'examples/nats');
  const { services } = composeSchema.parse(parse(await readFile(join(example, 'docker-compose.yml'), 'utf8')));
  const { image, command, environment, volumes, ports, healthcheck } = services.nats;
  const [mounted, data] = volumes;
  const config = natsFolder(resolve(checkout, '.kubus/nats')).config;
  expect(resolve(example, mounted.source)).toBe(dirname(config));
  expect(image).toMatch(/^\$\{NATS_IMAGE:-nats:2\.11-alpine@sha256:[0-9a-f]{64}\}$/);
  expect(ports).toEqual(['127.0.0.1:4222:4222']);

  // The real command of the container, run on this machine with the folders of the test and free ports.
  await addNode(folder, 'node0');
  expect(data.slice(data.indexOf(':') + 1)).toBe(environment.TMPDIR);
  const checkPort = command[command.indexOf('--http_port') + 1] ?? '';
  expect(healthcheck.test.join(' ')).toContain(`http://127.0.0.1:${checkPort}/`);
  const places = new Map([
    [join(mounted.target, relative(dirname(config), config)), folder.config],
    ['0.0.0.0', '127.0.0.1'],
    [checkPort, '-1'],
  ]);
  for (const place of places.keys()) expect(command).toContain(place);
  await runCommand(['nats-server', '-t', ...command.map((word) => places.get(word) ?? word)]);
});
