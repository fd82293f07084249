// What an identity of the node tries with subjects that it may use, each of which once succeeded.
import { Bus, HEADER, Publisher, type WireMessage } from '@kubus/bus';
import { announceServer } from '@kubus/bus/testing';
import {
  type ServiceContract,
  type ServiceName,
  criCommands,
  restartService,
  runtimeHint,
  serviceContracts,
  serviceNames,
} from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type NatsConnection, headers as natsHeaders } from '@nats-io/nats-core';
import { NatsTransport, READER } from '../src/index.ts';
import { bucketStream, recordStream } from '../src/names.ts';
import { TestNatsServer } from '../src/testing.ts';
import { clock, ids } from './ports.ts';

const NODE = 'n';
const server = new TestNatsServer();
const open: NatsConnection[] = [];

async function connection(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance);
  open.push(made);
  return made;
}

/** An instance that uses what `contract` lists. A hostile one has each of its messages changed before it is sent. */
async function join(
  service: ServiceName,
  contract: Partial<ServiceContract>,
  options: { epoch?: number; change?: (message: WireMessage) => WireMessage } = {},
): Promise<Bus> {
  const { epoch = 1, change = (message: WireMessage) => message } = options;
  const instance = `${service}-0`;
  const ports = { clock, ids, logger: silentLogger };
  const transport = new NatsTransport({ connection: await connection(instance), node: NODE, instance, ...ports });
  const publish = transport.publish.bind(transport);
  transport.publish = (message) => publish(change(message));
  const nothing: ServiceContract = { about: 'x', owns: [], reads: [], serves: [], calls: [], publishes: [], hears: [] };
  return new Bus({ node: NODE, service, instance, epoch, contract: { ...nothing, ...contract }, transport, ...ports });
}

/** What happens, each once, and in any order. */
class News {
  readonly #awaited = new Map<string, PromiseWithResolvers<string>>();

  of(what: string): Promise<string> {
    return this.#entry(what).promise;
  }

  happened(what: string): void {
    this.#entry(what).resolve(what);
  }

  #entry(what: string): PromiseWithResolvers<string> {
    const entry = this.#awaited.get(what) ?? Promise.withResolvers<string>();
    this.#awaited.set(what, entry);
    return entry;
  }
}

/** The subjects of the messages that services refuse, as `refused SUBJECT`. */
async function refusals(news: News): Promise<void> {
  const watcher = await connection('cli-0');
  watcher.subscribe(`kubus.${NODE}.service.event.refused.>`, {
    callback: (_error, message) => news.happened(`refused ${message.json<{ subject: string }>().subject}`),
  });
  await watcher.flush();
}

const { ExecSync } = criCommands;
const asked = { params: { cmd: ['true'] } };
const self = { version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' };

beforeAll(async () => {
  const services = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
  await server.start(NODE, serviceContracts, [...services, { service: READER, instance: 'reader-0' }]);
  await server.makeStreams();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
afterAll(() => server.stop());

test('a server answers on no subject but the replies of the sender, whatever the command asks for', async () => {
  const streams = await connection('streams-0');
  const news = new News();
  await refusals(news);
  const bus = await join('launcher', { serves: [restartService] });
  bus.serve(restartService, async ({ key }) => {
    // Longer than it takes until the server says that the command has arrived.
    await new Promise((resolve) => clock.after(250, () => resolve(undefined)));
    news.happened(`ran ${key}`);
    return { instances: [] };
  });
  bus.announce(self);
  const stored = async (stream: string) => {
    const answer = await streams.request(`$JS.API.STREAM.INFO.${stream}`, '');
    return answer.json<{ state?: { messages: number } }>().state?.messages;
  };
  const replies = [
    `$JS.API.STREAM.PURGE.${bucketStream(NODE)}`,
    `$JS.API.STREAM.DELETE.${recordStream(NODE)}`,
    '$KV.kubus_n.node.fact.share.prober',
    'kubus.n.node.event.process.prober',
    'kubus.n.reply.cli.cli-1.other',
    undefined,
  ];
  let reply: string | undefined;
  const change = ({ reply: own, ...message }: WireMessage) =>
    own === undefined || reply === undefined ? message : { ...message, reply };
  const person = await join('cli', { calls: [restartService] }, { change });
  for (const [number, subject] of replies.entries()) {
    reply = subject;
    const key = `attack-${number}`;
    void person.call(restartService, key, {}).catch(() => undefined);
    const refused = `refused kubus.n.node.cmd.restart.${key}.cli.cli-0`;
    expect([subject, await Promise.race([news.of(refused), news.of(`ran ${key}`)])]).toEqual([subject, refused]);
  }
  expect(await stored(bucketStream(NODE))).toBeGreaterThan(0);
  expect(await stored(recordStream(NODE))).toBeGreaterThan(0);
});

/** Has the broker deliver what it has recorded under a subject to that subject again, as an identity can that may only read. */
async function repeat(subject: string): Promise<void> {
  const reader = await connection('reader-0');
  const stream = recordStream(NODE);
  const name = ids.hex(4);
  const config = { name, ack_policy: 'none', filter_subject: subject, mem_storage: true };
  const request = JSON.stringify({ stream_name: stream, config });
  const made = await reader.request(`STREAMS.API.CONSUMER.CREATE.${stream}.${name}.${subject}`, request);
  expect(made.json()).not.toHaveProperty('error');
  const next = JSON.stringify({ batch: 10, no_wait: true });
  reader.publish(`STREAMS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, next, { reply: subject });
  await reader.flush();
}

test('what the record delivers again is neither run by a later start of the server nor believed', async () => {
  const news = new News();
  await refusals(news);
  const said: string[] = [];
  (await connection('cli-0')).subscribe(`kubus.${NODE}.runtime.cmd.>`, {
    callback: (_error, { subject }) => void said.push(subject),
  });
  const follower = await join('cli', { hears: [runtimeHint] });
  let hints = 0;
  follower.subscribe(runtimeHint, ({ key }) => news.happened(`hint ${key} ${++hints}`));
  let runs = 0;
  const start = async (epoch: number) => {
    const bus = await join('cri-bridge', { serves: [ExecSync], publishes: [runtimeHint] }, { epoch });
    bus.serve(ExecSync, ({ key }) => {
      news.happened(`ran ${key} ${++runs}`);
      return Promise.resolve({ response: {}, at: { epoch, counter: 1 } });
    });
    bus.announce(self);
    return bus;
  };
  const first = await start(1);
  const prober = await join('prober', { calls: [ExecSync] });
  await prober.call(ExecSync, 'pod-1', asked);
  first.emit(runtimeHint, 'pod-1', { containerId: 'c', kind: 'started', at: 'now' });
  await news.of('hint pod-1 1');
  const [command = ''] = said;
  await start(2);
  const hint = `kubus.${NODE}.runtime.event.hint.pod-1`;
  for (const [subject, again] of [
    [command, 'ran pod-1 2'],
    [hint, 'hint pod-1 2'],
  ] as const) {
    await repeat(subject);
    const refused = `refused ${subject}`;
    expect(await Promise.race([news.of(refused), news.of(again)])).toBe(refused);
  }
});

/** A cri-bridge that runs commands, each after `ready`. */
async function bridge(epoch: number, news: News, ready: Promise<unknown> = Promise.resolve()): Promise<void> {
  const bus = await join('cri-bridge', { serves: [ExecSync] }, { epoch });
  bus.serve(ExecSync, async ({ key, source }) => {
    news.happened(`ran ${key} of ${source}`);
    await ready;
    return { response: { exitCode: 7 }, at: { epoch, counter: 1 } };
  });
  bus.announce(self);
}

test('a command under the name of another service changes nothing for that service, whatever its fencing token', async () => {
  const news = new News();
  await refusals(news);
  await bridge(11, news);
  const as = (text: string) => text.replaceAll('prober', 'pod-workers');
  const forged = ({ headers, ...message }: WireMessage): WireMessage => {
    if (!message.subject.includes('.cmd.')) return { headers, ...message };
    const lies = { [HEADER.source]: 'pod-workers-0', [HEADER.command]: `${Number.MAX_SAFE_INTEGER}.1.1` };
    return { ...message, headers: { ...headers, ...lies } };
  };
  const change = (message: WireMessage) => {
    const lie = forged(message);
    return { ...lie, ...(lie.reply !== undefined && { reply: as(lie.reply) }), subject: as(lie.subject) };
  };
  // Under its own subject the service is refused by the server, under the other one by the broker.
  for (const [key, how] of Object.entries({ own: forged, other: change })) {
    const prober = await join('prober', { calls: [ExecSync] }, { change: how });
    void prober.call(ExecSync, key, asked).catch(() => undefined);
  }
  const refused = 'refused kubus.n.runtime.cmd.ExecSync.own.prober.prober-0';
  expect(await Promise.race([news.of(refused), news.of('ran own of pod-workers-0')])).toBe(refused);
  // Nor does another service speak of a later start of the server, to which commands would then be sent.
  await announceServer(await join('volume-manager', {}, { epoch: 99 }), 'cri-bridge', clock);
  const api = await join('pod-workers', { calls: [ExecSync] });
  // The first one may be sent before all announcements have been received.
  for (const key of ['pod-1', 'pod-2']) {
    const { result } = await api.call(ExecSync, key, asked);
    expect(result.response).toEqual({ exitCode: 7 });
  }
});

test('a reply of another service than the server is not believed', async () => {
  const news = new News();
  await refusals(news);
  const ready = Promise.withResolvers<undefined>();
  await bridge(12, news, ready.promise);
  const worker = await join('pod-workers', { calls: [ExecSync] });
  const answer = worker.call(ExecSync, 'pod-1', asked).then(({ result }) => result.response);
  const liar = await connection('volume-manager-0');
  const publisher = new Publisher({ publisherId: { instance: 'cri-bridge-0', epoch: 12, node: NODE }, clock, ids });
  const { headers } = publisher.stamp('runtime.reply.ExecSync/1', {});
  const forged = natsHeaders();
  for (const [name, value] of Object.entries({ ...headers, 'Kubus-Command': '1.1.1', 'Kubus-Status': 'done' }))
    forged.set(name, value);
  const replies = 'kubus.n.reply.pod-workers.pod-workers-0.pod-1';
  const lie = JSON.stringify({ response: { exitCode: 0 }, at: { epoch: 12, counter: 1 } });
  for (const subject of [replies, `${replies}.cri-bridge`, `${replies}.volume-manager`])
    liar.publish(subject, lie, { headers: forged });
  const refused = `refused ${replies}.volume-manager`;
  expect(await Promise.race([news.of(refused), answer])).toBe(refused);
  ready.resolve(undefined);
  expect(await answer).toEqual({ exitCode: 7 });
});
