// NATS publishes its own answers on the reply subject of a request, without asking whether the sender may publish there.
import { Bus } from '@kubus/bus';
import {
  type ServiceContract,
  type ServiceName,
  criCommands,
  runtimeHint,
  serviceContracts,
  serviceNames,
  serviceShare,
  subjectMatches,
} from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import {
  type Identity,
  NatsTransport,
  PEOPLE,
  READER,
  inboxPrefix,
  loadStored,
  permissionsOf,
  streamsInstance,
} from '../src/index.ts';
import { STREAMS_API, bucketStream, recordStream } from '../src/names.ts';
import { storedMessage } from '../src/record.ts';
import { TestNatsServer } from '../src/testing.ts';
import { clock, ids } from './ports.ts';

const NODE = 'n';
const BUCKET = bucketStream(NODE);
const RECORD = recordStream(NODE);
const { ExecSync } = criCommands;

const server = new TestNatsServer();
const open: NatsConnection[] = [];
/** What services received, and believed. */
const believed: string[] = [];
let streams: NatsConnection;

async function connection(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance);
  open.push(made);
  return made;
}

async function join(service: ServiceName, contract: Partial<ServiceContract>): Promise<Bus> {
  const instance = `${service}-0`;
  const ports = { clock, ids, logger: silentLogger };
  const transport = new NatsTransport({ connection: await connection(instance), node: NODE, instance, ...ports });
  const nothing: ServiceContract = { about: 'x', owns: [], reads: [], serves: [], calls: [], publishes: [], hears: [] };
  return new Bus({
    node: NODE,
    service,
    instance,
    epoch: 1,
    contract: { ...nothing, ...contract },
    transport,
    ...ports,
  });
}

beforeAll(async () => {
  const services = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
  await server.start(NODE, serviceContracts, [...services, { service: READER, instance: 'reader-0' }]);
  await server.makeStreams();
  streams = await connection(streamsInstance);

  const owner = (await join('launcher', { owns: [serviceShare] })).owner(serviceShare);
  owner.put('prober', { instances: ['prober-0'], term: 1 });
  owner.complete();
  const bridge = await join('cri-bridge', { serves: [ExecSync], publishes: [runtimeHint] });
  bridge.serve(ExecSync, ({ key }) => {
    believed.push(`command ${key}`);
    return Promise.resolve({ response: { exitCode: 7 }, at: { epoch: 1, counter: 1 } });
  });
  bridge.announce({ version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' });
  const worker = await join('pod-workers', { reads: [serviceShare], calls: [ExecSync] });
  const reader = worker.reader(serviceShare, { changed: ({ key }) => believed.push(`fact ${key}`) });
  const people = await join('cli', { hears: [runtimeHint] });
  const heard = Promise.withResolvers<undefined>();
  people.subscribe(runtimeHint, ({ key }) => {
    believed.push(`event ${key}`);
    heard.resolve(undefined);
  });
  await reader.whenPresent();
  await worker.call(ExecSync, 'k', { params: { cmd: ['true'] } });
  bridge.emit(runtimeHint, 'k', { containerId: 'c', kind: 'started', at: 'now' });
  await heard.promise;
});
afterAll(async () => {
  for (const one of open) await one.close();
  await server.stop();
});

/** Subjects on which nobody but the launcher, the owner or the right service may publish. */
const forbidden = [
  ...['$JS.API', 'STREAMS.API'].flatMap((api) =>
    [BUCKET, RECORD].flatMap((stream) => [
      ...['PURGE', 'DELETE', 'UPDATE', 'CREATE'].map((call) => `${api}.STREAM.${call}.${stream}`),
      `${api}.STREAM.MSG.DELETE.${stream}`,
    ]),
  ),
  '$JS.API.STREAM.CREATE.other',
  'HUB.API.STREAM.CREATE.other',
  '$KV.kubus_n.node.fact.share.prober',
  '$KV.kubus_n.node.fact.share.=complete.launcher-0',
  '$KV.kubus_n.service.fact.instance.cri-bridge-0',
  'kubus.n.node.fact.share.prober',
  'kubus.n.runtime.cmd.ExecSync.k.pod-workers.pod-workers-0',
  'kubus.n.runtime.event.hint.k',
  'kubus.n.reply.pod-workers.pod-workers-0.k.cri-bridge',
  `$JS.ACK.${RECORD}.c.1.1.1.1.1`,
];

let looks = 0;

/** What the node has of facts that are not `own`, each with its position, its streams, and what its services believe. */
async function state(own: (subject: string) => boolean): Promise<unknown> {
  const facts: string[] = [];
  const { loaded } = loadStored({
    ...{ connection: streams, api: '$JS.API', stream: BUCKET, filter: '$KV.kubus_n.>', what: 'last' },
    ...{ inbox: `${inboxPrefix(streamsInstance)}.look.${++looks}`, name: `look-${looks}`, timeoutMs: 60_000 },
    onMessage: (wire) => {
      const { seq, message } = storedMessage(wire);
      if (!own(message.subject)) facts.push(`${seq} ${message.subject} ${message.data}`);
    },
  });
  await loaded;
  const info = async (stream: string) => {
    const answer = await streams.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 60_000 });
    const { created, config, state } = answer.json<{ created: string; config: object; state: { first_seq: number } }>();
    // The first of the facts is at another place when its owner has stored it again.
    return { created, config, ...(stream === RECORD && { first: state.first_seq }) };
  };
  const account = await streams.request('$JS.API.INFO', '', { timeout: 60_000 });
  const { streams: count } = account.json<{ streams: number }>();
  return {
    facts: facts.sort(),
    bucket: await info(BUCKET),
    record: await info(RECORD),
    count,
    believed: [...believed],
  };
}

/** Requests that an identity may send, as the subject and the body, with which the broker answers `reply`. */
function requests(subject: string, reply: string, name: string): [string, string][] {
  if (subject.includes('.API.CONSUMER.CREATE.')) {
    const [stream = '', , ...filter] = subject.replace(/^.*\.API\.CONSUMER\.CREATE\./, '').split('.');
    const config = {
      name,
      ack_policy: 'none',
      deliver_policy: 'all',
      filter_subject: filter.join('.'),
      mem_storage: true,
    };
    const of = (more: object) => JSON.stringify({ stream_name: stream, config: { ...config, ...more } });
    const create = subject.replace('.*.', `.${name}.`);
    // Bad input; a consumer from which messages are taken; one that delivers by itself.
    return [
      [create, '{'],
      [create, of({})],
      [create.replace(`.${name}.`, `.${name}-push.`), of({ name: `${name}-push`, deliver_subject: reply })],
    ];
  }
  if (subject.includes('.CONSUMER.MSG.NEXT.'))
    return [
      [subject.replace(/[^.]+$/, name), '{"batch":100,"no_wait":true}'],
      [subject.replace(/[^.]+$/, 'none'), ''],
    ];
  const literal = subject.replaceAll(/[*>]/g, 'x');
  return ['', '{', '{}'].map((data) => [literal, data]);
}

const hostile: readonly Identity[] = [
  { service: 'prober', instance: 'prober-0' },
  { service: 'observatory', instance: 'observatory-0' },
  { service: 'cli', instance: PEOPLE },
  { service: READER, instance: 'reader-0' },
];

test.each(hostile)(
  'nothing that the broker answers $instance changes the node, whatever the reply subject',
  async (identity) => {
    const { publish } = permissionsOf(identity, NODE, serviceContracts);
    const patterns = publish.filter((pattern) => !pattern.startsWith('_INBOX'));
    const isOwn = (subject: string) => publish.some((pattern) => subjectMatches(pattern, subject));
    const mine = await connection(identity.instance);
    const before = await state(isOwn);
    for (const [number, reply] of forbidden.entries()) {
      expect([reply, isOwn(reply)]).toEqual([reply, false]);
      for (const [index, pattern] of patterns.entries()) {
        // Messages are taken from the same consumer of the record that was made before.
        const name = pattern.includes(RECORD) ? `c${number}` : `c${number}-${index}`;
        for (const [subject, data] of requests(pattern, reply, name)) mine.publish(subject, data, { reply });
      }
      // What may be asked in any case, which no identity has to have a right for.
      for (const subject of [`$JS.API.DIRECT.GET.${RECORD}`, `$JS.API.STREAM.MSG.GET.${RECORD}`, '$SYS.REQ.USER.INFO'])
        mine.publish(subject, '{"seq":1}', { reply });
      await mine.flush();
    }
    // What consumers deliver comes later than answers; the broker answers one identity in order.
    const info = `${STREAMS_API}.STREAM.INFO.${BUCKET}`;
    for (let turn = 0; turn < 3; turn++) await mine.request(info, '', { timeout: 60_000 });
    for (const one of open) await one.flush();
    expect(await state(isOwn)).toEqual(before);
  },
);
