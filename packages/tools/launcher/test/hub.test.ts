import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectNats, ensureHubStream, ensureStreams, defaultRecordLimits } from '@kubus/bus-nats';
import { Authority } from '@kubus/kube-fixture';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../src/network/free-port.ts';
import { type Hub, checkRelayed, hubLink, keepHub, keptHub, readHub, relayedHubLink } from '../src/nats/hub.ts';
import { ensureIdentities } from '../src/nats/identities.ts';
import { natsConfigFile, writeNatsConfig } from '../src/nats/nats-server.ts';
import { afterTest } from './support.ts';

const NODE = 'node.example';
const TOKEN = 'node=2Eexample';
const DOMAIN = 'node_example';
/** Another node of the same hub. */
const OTHER = 'node1';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-hub-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

interface Server {
  readonly child: ChildProcess;
  /** Resolves with the groups when it has said something like that. */
  readonly says: (pattern: RegExp) => Promise<readonly (string | undefined)[]>;
  readonly stop: () => Promise<void>;
}

function startServer(config: string): Server {
  const child = spawn('nats-server', ['--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const failed = ended.then(() => Promise.reject(new Error(`nats-server ended: ${log}`)));
  failed.catch(() => undefined);
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  afterTest(stop);
  const says = async (pattern: RegExp) => {
    for (;;) {
      const found = pattern.exec(log);
      if (found !== null) return found;
      await Promise.race([once(child.stderr, 'data'), failed]);
    }
  };
  return { child, says, stop };
}

const example = (name: string) => join(import.meta.dirname, '../../../../examples/hub', name);

/** Admits nodes to the hub with passwords that the tests know. */
async function admit(...nodes: readonly string[]): Promise<void> {
  await write('reader.credentials', 'reader:reading\n');
  for (const node of nodes) await write(`${node}.credentials`, `${node}:secret\n`);
  await promisify(execFile)(example('users.sh'), [folder, ...nodes]);
}

/** The hub of the examples, on other ports of the loopback. */
async function startHub(tls?: { cert: string; key: string }): Promise<{ url: string; leaf: number; server: Server }> {
  const leaf = await freePort();
  const config = await readFile(example(tls === undefined ? 'nats.conf' : 'nats-tls.conf'), 'utf8');
  const accounts = await readFile(example('accounts.conf'), 'utf8');
  await write('accounts.conf', accounts.replace('$EVENTS', JSON.stringify(join(folder, 'events'))));
  await admit(NODE, OTHER);
  const own = config
    .replace(/"[\d.]+:4222"/, '"127.0.0.1:-1"')
    .replace(/"[\d.]+:7422"/, `"127.0.0.1:${leaf}"`)
    .replaceAll('$TLS_CERT', JSON.stringify(tls?.cert))
    .replaceAll('$TLS_KEY', JSON.stringify(tls?.key));
  const file = await write('hub.conf', own);
  const server = startServer(file);
  const [, port] = await server.says(/Listening for client connections on 127\.0\.0\.1:(\d+)/);
  await server.says(/Server is ready/);
  return { url: `${tls === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}`, leaf, server };
}

function hubAt(leaf: number, more: Partial<Hub> & { host?: string; tls?: boolean } = {}): Hub {
  const { host = '127.0.0.1', tls = false, ...rest } = more;
  return { server: { host, port: leaf, tls }, user: NODE, password: 'secret', ...rest };
}

/** The server of a node that has a hub. */
class LinkedNode {
  readonly server: Server;
  readonly #seeds: ReadonlyMap<string, string>;
  readonly #url: string;

  static async start(link: ReturnType<typeof hubLink>): Promise<LinkedNode> {
    const dir = { node: NODE, config: folder, root: folder };
    const identities = await ensureIdentities(join(folder, 'identities'));
    await writeNatsConfig(dir, identities, 0, { hub: link });
    const server = startServer(natsConfigFile(dir));
    const [, port] = await server.says(/Listening for client connections on 127\.0\.0\.1:(\d+)/);
    await server.says(/Server is ready/);
    const seeds = new Map(identities.map(({ instance, seed }) => [instance, seed]));
    return new LinkedNode(server, seeds, `nats://127.0.0.1:${port}`);
  }

  private constructor(server: Server, seeds: ReadonlyMap<string, string>, url: string) {
    this.server = server;
    this.#seeds = seeds;
    this.#url = url;
  }

  async as(instance: string): Promise<NatsConnection> {
    const seed = this.#seeds.get(instance) ?? '';
    const connection = await connectNats({ servers: this.#url, instance, seed, once: true });
    afterTest(() => connection.close());
    return connection;
  }

  async keepEvents(): Promise<void> {
    const streams = await this.as('streams-0');
    await ensureStreams(streams, NODE, defaultRecordLimits);
    await ensureHubStream(streams, NODE, 1.2);
    await ensureHubStream(streams, NODE, 2);
  }
}

async function readerAt(url: string): Promise<NatsConnection> {
  const connection = await connect({ servers: url, user: 'reader', pass: 'reading' });
  afterTest(() => connection.close());
  return connection;
}

/**
 * Asks until the node that comes to the hub answers. While it comes, nobody may be there to answer, or the answer is lost: the node's
 * server does not know the reader's inbox yet.
 */
async function ask(reader: NatsConnection, subject: string, request: object = {}): Promise<unknown> {
  for (;;) {
    try {
      return (await reader.request(subject, JSON.stringify(request), { timeout: 5_000 })).json();
    } catch (error) {
      if (!(error instanceof Error && ['NoRespondersError', 'TimeoutError'].includes(error.name))) throw error;
    }
  }
}

/** Lets the hub take the node's stream; resolves to what the reader hears of it. */
async function take(reader: NatsConnection): Promise<(count: number) => Promise<string[]>> {
  const name = `EVENTS_${DOMAIN}_1`;
  const names = await ask(reader, `$JS.${DOMAIN}.API.STREAM.NAMES`);
  expect(names).toMatchObject({ streams: [name] });
  const source = { name, external: { api: `$JS.${DOMAIN}.API`, deliver: `kubus-hub.${DOMAIN}` } };
  const made = await ask(reader, '$JS.API.STREAM.CREATE.EVENTS', { name: 'EVENTS', sources: [source] });
  expect(made).not.toHaveProperty('error');
  return hear(reader, 'taken');
}

/** What the hub has and gets of events, as it comes by this subject. */
async function hear(reader: NatsConnection, subject: string): Promise<(count: number) => Promise<string[]>> {
  const heard: string[] = [];
  let noticed = Promise.withResolvers<undefined>();
  reader.subscribe(subject, {
    callback: (_error, message) => {
      heard.push(message.subject);
      noticed.resolve(undefined);
    },
  });
  const config = { deliver_subject: subject, deliver_policy: 'all', ack_policy: 'none' };
  await ask(reader, '$JS.API.CONSUMER.CREATE.EVENTS', { stream_name: 'EVENTS', config });
  return async (count) => {
    while (heard.length < count) {
      await noticed.promise;
      noticed = Promise.withResolvers();
    }
    return [...heard];
  };
}

const event = (pod: string) => `kubus.${TOKEN}.worker.event.recorded.${pod}`;

describe('a node connected to a hub', () => {
  test('publishes its events, older ones included, and nothing else to the hub', async () => {
    const { url, leaf } = await startHub();
    const node = await LinkedNode.start(hubLink(NODE, hubAt(leaf)));
    await node.keepEvents();
    const reader = await readerAt(url);
    const overheard: string[] = [];
    reader.subscribe('>', { callback: (_error, { subject }) => void overheard.push(subject) });
    await reader.flush();
    const worker = await node.as('pod-workers-0');
    worker.publish(event('before'));
    await worker.flush();
    const taken = await take(reader);
    expect(await taken(1)).toEqual([event('before')]);
    const instance = 'pod-workers-0';
    for (const what of [
      `kubus.${TOKEN}.runtime.cmd.RunPodSandbox.p.pod-workers.${instance}`,
      `kubus.${TOKEN}.reply.sync-loop.sync-loop-0.p`,
      `kubus.${TOKEN}.service.event.refused.${instance}`,
      `kubus.${TOKEN}.service.event.journal.${instance}`,
      `$KV.kubus_${DOMAIN}.worker.fact.status.p`,
      '_INBOX.cli-0.x',
    ]) {
      worker.publish(what);
    }
    worker.publish(event('after'));
    expect(await taken(2)).toEqual([event('before'), event('after')]);
    await reader.flush();
    const ofHub = /^(\$JS\.(node_example\.)?API\.|\$JS\.EVENT\.|\$JSC\.R\.|_INBOX\.|kubus-hub\.|taken$)/;
    const announced = [event('before'), event('after')];
    expect(overheard.filter((subject) => !ofHub.test(subject) && !announced.includes(subject))).toEqual([]);
  });

  test('receives no messages of the hub, and serves only its requests for the stream', async () => {
    const { url, leaf } = await startHub();
    const node = await LinkedNode.start(hubLink(NODE, hubAt(leaf)));
    await node.keepEvents();
    const people = await node.as('cli-0');
    const heard: string[] = [];
    people.subscribe(`kubus.${TOKEN}.>`, { callback: (_error, { subject }) => void heard.push(subject) });
    await people.flush();
    const reader = await readerAt(url);
    const taken = await take(reader);
    for (const tail of ['runtime.cmd.RunPodSandbox.p', 'worker.event.recorded.forged', 'worker.fact.status.p']) {
      reader.publish(`kubus.${TOKEN}.${tail}`);
    }
    for (const prefix of ['$KV', `$JS.${DOMAIN}.API.$KV`]) {
      reader.publish(`${prefix}.kubus_${DOMAIN}.worker.fact.status.p`);
    }
    const api = `$JS.${DOMAIN}.API`;
    const own = `EVENTS_${DOMAIN}_1`;
    for (const call of [
      ...['INFO', 'STREAM.LIST', 'STREAM.CREATE.OTHER'],
      ...['INFO', 'DELETE', 'PURGE', 'UPDATE', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT'].map(
        (verb) => `STREAM.${verb}.${own}`,
      ),
      ...['LIST', 'NAMES'].map((verb) => `CONSUMER.${verb}.${own}`),
      ...['INFO', 'DELETE', 'MSG.NEXT', 'DURABLE.CREATE'].map((verb) => `CONSUMER.${verb}.${own}.c`),
    ]) {
      await expect(reader.request(`${api}.${call}`, '{}', { timeout: 5_000 })).rejects.toThrow(/no responders/i);
    }
    // Of the account of the node the hub has no stream, and what is delivered does not leave the hub's account.
    const stream = `KUBUS_${DOMAIN}`;
    const none = await ask(reader, `${api}.CONSUMER.CREATE.${stream}`, { stream_name: stream, config: {} });
    expect(none).toMatchObject({ error: { description: 'stream not found' } });
    const deliver = `kubus.${TOKEN}.runtime.cmd.RunPodSandbox.delivered`;
    const config = { deliver_subject: deliver, deliver_policy: 'all', ack_policy: 'none' };
    await ask(reader, `${api}.CONSUMER.CREATE.${own}`, { stream_name: own, config });
    const worker = await node.as('pod-workers-0');
    worker.publish(event('last'));
    expect(await taken(1)).toEqual([event('last')]);
    await people.flush();
    expect(heard).toEqual([event('last')]);
  });

  test('publishes the events of an outage after it, and new instances can be admitted', async () => {
    const first = await startHub();
    const node = await LinkedNode.start(hubLink(NODE, hubAt(first.leaf)));
    await node.keepEvents();
    const reader = await readerAt(first.url);
    const taken = await take(reader);
    const worker = await node.as('pod-workers-0');
    worker.publish(event('one'));
    await taken(1);
    await first.server.stop();
    worker.publish(event('two'));
    await worker.flush();
    const identities = await ensureIdentities(join(folder, 'identities'), { prober: 2 });
    const link = hubLink(NODE, hubAt(first.leaf));
    await writeNatsConfig({ node: NODE, config: folder, root: folder }, identities, 0, { hub: link });
    node.server.child.kill('SIGHUP');
    await node.server.says(/Reloaded server configuration/);
    const again = startServer(join(folder, 'hub.conf'));
    const [, port] = await again.says(/Listening for client connections on 127\.0\.0\.1:(\d+)/);
    const later = await readerAt(`nats://127.0.0.1:${port}`);
    const counted = async () => {
      const { state } = (await ask(later, '$JS.API.STREAM.INFO.EVENTS')) as { state: { messages: number } };
      return state.messages;
    };
    const both = await hear(later, 'both');
    expect(await both(2)).toEqual([event('one'), event('two')]);
    expect(await counted()).toBe(2);
  });
});

describe('TLS', () => {
  async function certified(): Promise<{ ca: string; pair: { cert: string; key: string } }> {
    const authority = await Authority.create();
    const made = await authority.issue({ commonName: 'hub', dnsNames: ['hub.example'] }, 'server');
    const pair = { cert: await write('cert.pem', made.certificate), key: await write('key.pem', made.key) };
    return { ca: await write('ca.pem', authority.certificate), pair };
  }

  /** As through the relay of a private node: the hub is reached under another address than its name. */
  function relayed(leaf: number, host: string, ca?: string) {
    return relayedHubLink(leaf, NODE, hubAt(leaf, { host, tls: true, ca }));
  }

  test('the hub is verified by its name', async () => {
    const { ca, pair } = await certified();
    const { leaf } = await startHub(pair);
    const node = await LinkedNode.start(relayed(leaf, 'hub.example', ca));
    await node.server.says(/JetStream (?:Domain Mapping|using domains)/);
  });

  test.each([
    ['of another name', 'other.example', true, /certificate is valid for hub\.example, not other\.example/],
    ['of an unknown authority', 'hub.example', false, /certificate signed by unknown authority/],
  ])('a hub with a certificate %s is refused', async (_what, host, known, failure) => {
    const { ca, pair } = await certified();
    const { leaf, server } = await startHub(pair);
    const node = await LinkedNode.start(relayed(leaf, host, known ? ca : undefined));
    await node.server.says(failure);
    await server.says(/TLS leafnode handshake error/);
  });

  test('a hub without TLS is not sent the password', async () => {
    const { leaf, server } = await startHub();
    const node = await LinkedNode.start(relayed(leaf, 'hub.example'));
    await node.server.says(/TLS leafnode handshake error|TLS Handshake Failure/);
    await server.says(/Leafnode connection closed|Parser Error|Parse Error/i);
  });
});

describe('the options of a hub', () => {
  const good = async () => write('credentials', 'node:se:cret\n');

  test.each([
    ['nats-leaf://127.0.0.1', '127.0.0.1', 7422, false],
    ['nats-leaf://[::1]:1', '::1', 1, false],
    ['tls://hub.example:7', 'hub.example', 7, true],
  ])('%s is accepted', async (url, host, port, tls) => {
    const hub = await readHub({ url, credentials: await good() });
    expect(hub).toEqual({ server: { host, port, tls }, user: 'node', password: 'se:cret' });
    await keepHub({ config: folder }, hub);
    expect(await keptHub({ config: folder }, { hub: url, hubCa: false })).toEqual(hub);
  });

  test.each([
    [
      'nats://127.0.0.1:7422',
      /^"nats:.* is not a valid URL of a hub: use nats-leaf:\/\/HOST:PORT or tls:\/\/HOST:PORT$/,
    ],
    ['nats-leaf://', /is not a valid URL of a hub/],
    ['nats-leaf://hub.example', /^The hub nats-leaf:\/\/hub\.example is not on this machine: use tls:\/\//],
    ['nats-leaf://node:secret@127.0.0.1', /^(?!.*secret).*--hub-credentials$/],
  ])('%s is refused', async (url, message) => {
    await expect(readHub({ url, credentials: await good() })).rejects.toThrow(message);
  });

  test('unusable files are named', async () => {
    const url = 'tls://hub.example';
    const read = (credentials: string | undefined, ca?: string) => readHub({ url, credentials, ca });
    const secret = await write('secret', 'a password alone\n');
    await expect(read(undefined)).rejects.toThrow(/--hub tls:\/\/hub\.example needs --hub-credentials FILE/);
    await expect(read('/nowhere/file')).rejects.toThrow(/^--hub-credentials \/nowhere\/file cannot be read: ENOENT/);
    await expect(read(secret)).rejects.toThrow(
      `--hub-credentials ${secret} does not contain USER:PASSWORD in one line`,
    );
    await chmod(secret, 0o640);
    await expect(read(secret)).rejects.toThrow(`--hub-credentials ${secret} is readable by others (mode 640)`);
    await expect(read(await good(), secret)).rejects.toThrow(`--hub-ca ${secret} does not contain PEM certificates`);
    const plain = { url: 'nats-leaf://127.0.0.1', credentials: await good(), ca: secret };
    await expect(readHub(plain)).rejects.toThrow(/--hub-ca needs a tls:\/\/ hub/);
  });

  test('a private node requires the hub to be given by name', async () => {
    const credentials = await good();
    const address = await readHub({ url: 'tls://192.0.2.7', credentials });
    expect(() => checkRelayed(address)).toThrow(/use tls:\/\/NAME:PORT/);
    checkRelayed(await readHub({ url: 'tls://hub.example', credentials }));
    checkRelayed(await readHub({ url: 'nats-leaf://127.0.0.1', credentials }));
  });
});
