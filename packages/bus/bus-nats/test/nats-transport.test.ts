import { Bus, type WireMessage } from '@kubus/bus';
import { announceServer } from '@kubus/bus/testing';
import {
  type ServiceContract,
  type ServiceName,
  command,
  event,
  fact,
  factKey,
  factPattern,
  serviceNames,
} from '@kubus/contracts';
import { KubusError, silentLogger } from '@kubus/ports';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type NatsConnection, headers } from '@nats-io/nats-core';
import * as z from 'zod';
import { NatsTransport, STREAMS, defaultRecordLimits, ensureStreams, loadStored } from '../src/index.ts';
import { bucketStream, inboxPrefix, nodeSubject, storeSubject } from '../src/names.ts';
import { TestNatsServer } from '../src/testing.ts';
import { clock, ids } from './ports.ts';

const color = fact({
  area: 'config',
  name: 'color',
  key: 'name',
  owner: 'config-sources',
  payload: z.string(),
  about: 'x',
});
const paint = command({
  area: 'runtime',
  name: 'paint',
  key: 'name',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({ color: z.string() }),
  result: z.object({ painted: z.string() }),
  about: 'x',
});
const dried = event({
  area: 'runtime',
  name: 'dried',
  key: 'pod',
  publisher: 'cri-bridge',
  payload: z.number(),
  about: 'x',
});

const nothing: ServiceContract = { about: 'x', owns: [], reads: [], serves: [], calls: [], publishes: [], hears: [] };
const contracts: Record<ServiceName, ServiceContract> = {
  ...(Object.fromEntries(serviceNames.map((name) => [name, nothing])) as Record<ServiceName, ServiceContract>),
  'config-sources': { ...nothing, owns: [color] },
  'cri-bridge': { ...nothing, serves: [paint], publishes: [dried] },
  'pod-workers': { ...nothing, reads: [color], calls: [paint], hears: [dried] },
};
const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));

const server = new TestNatsServer();
const open: NatsConnection[] = [];

async function connection(service: ServiceName | typeof STREAMS): Promise<NatsConnection> {
  const made = await server.connect(`${service}-0`);
  open.push(made);
  return made;
}

async function join(service: ServiceName, epoch = 1, more: { compareMs?: number } = {}) {
  const nats = await connection(service);
  const instance = `${service}-0`;
  const transport = new NatsTransport({
    connection: nats,
    node: 'n',
    instance,
    clock,
    ids,
    logger: silentLogger,
    ...more,
  });
  const contract = contracts[service];
  return {
    nats,
    transport,
    bus: new Bus({ node: 'n', service, instance, epoch, contract, transport, clock, ids, logger: silentLogger }),
  };
}

/** Resolves with the first value for which `wanted` holds; every value is passed to `push`. */
function awaiting<T>(wanted: (value: T) => boolean): { push: (value: T) => void; found: Promise<T> } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { push: (value) => wanted(value) && resolve(value), found: promise };
}

/** The subjects of the bucket that hold a value. */
async function bucketKeys(): Promise<string[]> {
  const streams = await connection(STREAMS);
  const answer = await streams.request(`$JS.API.STREAM.INFO.${bucketStream('n')}`, '{"subjects_filter":">"}');
  return Object.keys(answer.json<{ state: { subjects?: object } }>().state.subjects ?? {});
}

beforeAll(async () => {
  await server.start('n', contracts, identities);
  await server.makeStreams();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
afterAll(() => server.stop());

describe('facts over NATS', () => {
  test('a late reader receives current values, then changes, removals and completion', async () => {
    const { bus } = await join('config-sources', 1);
    const owner = bus.owner(color);
    for (let i = 0; i < 200; i++) owner.put(`c${i}`, String(i));
    owner.complete();
    const reader = await join('pod-workers');
    const complete = awaiting<number>((epoch) => epoch === 1);
    const gone = awaiting<string>((key) => key === 'c7');
    const changed = awaiting<string>((value) => value === 'new');
    const facts = reader.bus.reader(color, {
      changed: ({ value }) => changed.push(value),
      removed: ({ key }) => gone.push(key),
      complete: (_instance, epoch) => complete.push(epoch),
    });
    await complete.found;
    await facts.whenPresent();
    expect([...facts]).toHaveLength(200);
    owner.remove('c7');
    owner.put('c8', 'new');
    await gone.found;
    await changed.found;
  });

  test('a server that restarts empty is filled again, and readers continue', async () => {
    const writer = await join('config-sources', 2);
    const owner = writer.bus.owner(color);
    owner.put('sky', 'blue');
    owner.complete();
    const reader = await join('pod-workers');
    const first = awaiting<number>((epoch) => epoch === 2);
    const fresh = awaiting<string>((value) => value === 'green');
    const removed: string[] = [];
    const facts = reader.bus.reader(color, {
      changed: ({ value }) => fresh.push(value),
      removed: ({ key }) => removed.push(key),
      complete: (_instance, epoch) => first.push(epoch),
    });
    await first.found;
    // What the previous epoch had left is removed by now.
    expect([...facts].map(({ key }) => key)).toEqual(['sky']);
    removed.length = 0;
    await server.kill();
    owner.put('grass', 'green');
    await server.restart();
    await server.makeStreams();
    await fresh.found;
    expect(facts.get('sky')?.value).toBe('blue');
    expect(removed).toEqual([]);
    const late = await join('cli');
    expect(late.bus.instance).toBe('cli-0');
  });

  test('a header cannot erase other keys', async () => {
    const writer = await join('config-sources', 4);
    const owner = writer.bus.owner(color);
    for (const key of ['a', 'b']) owner.put(key, 'grey');
    owner.complete();
    const reader = await join('pod-workers');
    const complete = awaiting<number>((epoch) => epoch === 4);
    reader.bus.reader(color, { complete: (_instance, epoch) => complete.push(epoch) });
    await complete.found;
    for (const [name, value] of [
      ['Nats-Rollup', 'all'],
      ['Nats-Rollup', 'sub'],
      ['KV-Operation', 'PURGE'],
    ] as const) {
      const rollup = headers();
      rollup.set(name, value);
      const answer = await writer.nats.request(storeSubject('n', factKey(color, 'c')), '"x"', {
        headers: rollup,
        timeout: 5_000,
      });
      expect([name, value, answer.json<{ error?: object }>().error !== undefined]).toEqual([
        name,
        value,
        name === 'Nats-Rollup',
      ]);
    }
    await join('cri-bridge');
    expect((await bucketKeys()).filter((key) => /\.[ab]$/.test(key))).toHaveLength(2);
  });

  test('a bucket that has lost its keys is refilled', async () => {
    const writer = await join('config-sources', 5, { compareMs: 100 });
    const owner = writer.bus.owner(color);
    owner.put('lost', 'pink');
    owner.complete();
    const reader = await join('pod-workers');
    const complete = awaiting<number>((epoch) => epoch === 5);
    reader.bus.reader(color, { complete: (_instance, epoch) => complete.push(epoch) });
    await complete.found;
    const again = awaiting<string>((value) => value === '"pink"');
    reader.nats.subscribe(nodeSubject('n', factKey(color, 'lost')), {
      callback: (_error, message) => again.push(message.string()),
    });
    await reader.nats.flush();
    const streams = await connection(STREAMS);
    await streams.request(`$JS.API.STREAM.PURGE.${bucketStream('n')}`, '');
    await again.found;
  });

  test('stored messages that never arrive are not awaited forever', async () => {
    const writer = await join('config-sources', 6);
    const reader = await join('pod-workers');
    const stored = awaiting<string>((value) => value === 'stored');
    reader.bus.reader(color, { changed: ({ value }) => stored.push(value) });
    writer.bus.owner(color).put('unheard', 'stored');
    await stored.found;
    const { loaded } = loadStored({
      ...{ connection: reader.nats, stream: bucketStream('n'), filter: storeSubject('n', 'config.fact.color.*') },
      // The server does not let an identity receive what is under the inbox of another one.
      ...{ what: 'last', inbox: `${inboxPrefix('cri-bridge-0')}.load.x`, name: 'load-pod-workers-0-x', timeoutMs: 100 },
      onMessage: () => undefined,
    });
    await expect(loaded).rejects.toMatchObject({ code: 'load-stalled' });
  });

  test('a single key that the bucket has lost is published again; one that was removed is not', async () => {
    const writer = await join('config-sources', 7, { compareMs: 50 });
    const owner = writer.bus.owner(color);
    for (const key of ['kept', 'lost', 'removed']) owner.put(key, 'pink');
    owner.remove('removed');
    owner.complete();
    const reader = await join('pod-workers');
    const complete = awaiting<number>((epoch) => epoch === 7);
    reader.bus.reader(color, { complete: (_instance, epoch) => complete.push(epoch) });
    await complete.found;
    const seen: string[] = [];
    const again = awaiting<string>((subject) => subject.endsWith('.lost'));
    reader.nats.subscribe(nodeSubject('n', 'config.fact.color.*'), {
      callback: (_error, { subject }) => {
        seen.push(subject.slice(subject.lastIndexOf('.') + 1));
        again.push(subject);
      },
    });
    await reader.nats.flush();
    const streams = await connection(STREAMS);
    for (const key of ['lost', 'removed']) {
      const filter = JSON.stringify({ filter: storeSubject('n', factKey(color, key)) });
      await streams.request(`$JS.API.STREAM.PURGE.${bucketStream('n')}`, filter);
    }
    await again.found;
    expect(seen).not.toContain('removed');
  });

  test('streams of an earlier version, which allowed it, no longer take the header that erases', async () => {
    const streams = await connection(STREAMS);
    const stream = bucketStream('n');
    const info = async () => {
      const answer = await streams.request(`$JS.API.STREAM.INFO.${stream}`, '');
      return answer.json<{ config: Record<string, unknown> }>().config;
    };
    const before = { ...(await info()), allow_rollup_hdrs: true };
    await streams.request(`$JS.API.STREAM.UPDATE.${stream}`, JSON.stringify(before));
    expect(await info()).toMatchObject({ allow_rollup_hdrs: true });
    await ensureStreams(streams, 'n', defaultRecordLimits);
    expect((await info())['allow_rollup_hdrs'] ?? false).toBe(false);
  });
});

describe('commands and events over NATS', () => {
  test('a command is answered, even if it was sent before the server had started', async () => {
    const client = await join('pod-workers', 3);
    const painting = client.bus.call(paint, 'wall', { color: 'red' });
    const { bus } = await join('cri-bridge', 3);
    bus.serve(paint, ({ request }) => Promise.resolve({ painted: request.color }));
    bus.announce({ version: '0', pid: 1, startedAt: 'now' });
    expect((await painting).result).toEqual({ painted: 'red' });
  });

  test('the reply comes from the server, not from JetStream, although the record stream stores every message', async () => {
    const { bus } = await join('cri-bridge', 4);
    bus.serve(paint, () => Promise.reject(new KubusError('dry', 'no paint left')));
    await announceServer(bus, 'cri-bridge', clock);
    const client = await join('pod-workers', 4);
    await expect(client.bus.call(paint, 'wall', { color: 'red' })).rejects.toMatchObject({ code: 'dry' });
  });

  test('an event arrives; an invalid one is refused and kept', async () => {
    const { bus, nats } = await join('cri-bridge', 5);
    const client = await join('pod-workers', 5);
    const watcher = await connection('cli');
    const refused = awaiting<string>((text) => text.includes('"payload":"\\"wet\\""'));
    watcher.subscribe('kubus.n.service.event.refused.>', {
      callback: (_error, message) => refused.push(message.string()),
    });
    await watcher.flush();
    const heard = awaiting<number>((value) => value === 7);
    client.bus.subscribe(dried, ({ payload }) => heard.push(payload));
    await client.nats.flush();
    bus.emit<unknown>(dried, 'pod-1', 'wet');
    bus.emit(dried, 'pod-1', 7);
    await nats.flush();
    await heard.found;
    await refused.found;
    expect(client.bus.refused).toBe(1);
  });

  test('a header arrives as it was; one with a line break is refused, as it would add headers', async () => {
    const { transport } = await join('config-sources');
    const connected = awaiting<boolean>((is) => is);
    transport.onConnection(connected.push);
    connected.push(transport.connected);
    await connected.found;
    const seen = awaiting<WireMessage>(({ subject }) => subject.endsWith('.sky'));
    (await join('pod-workers')).transport.watchFacts(factPattern(color), {
      message: seen.push,
      present: () => undefined,
    });
    const key = factKey(color, 'sky');
    await expect(transport.storeFact(key, { data: '"x"', headers: { 'Kubus-A': 'a\r\nKubus-B: b' } })).rejects.toThrow(
      'the header Kubus-A has a line break',
    );
    await transport.storeFact(key, { data: '"x"', headers: { 'Kubus-A': 'a: b' } });
    expect((await seen.found).headers).toEqual({ 'Kubus-A': 'a: b' });
  });
  test('a message above 8 MiB fails with its size and the limit', async () => {
    const client = await join('pod-workers', 6);
    const { bus } = await join('cri-bridge', 6);
    bus.serve(paint, ({ request }) => Promise.resolve({ painted: request.color }));
    await announceServer(bus, 'cri-bridge', clock);
    await expect(client.bus.call(paint, 'wall', { color: 'red' })).resolves.toBeDefined();
    const huge = client.bus.call(paint, 'wall', { color: 'x'.repeat(9_000_000) });
    await expect(huge).rejects.toThrow(/9000\d{3} bytes.*8388608/);
  });
});
