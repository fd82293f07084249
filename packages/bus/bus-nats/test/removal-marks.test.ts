import { Bus } from '@kubus/bus';
import { type ServiceContract, type ServiceName, fact, serviceNames } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import * as z from 'zod';
import { NatsTransport, RemovalMarks, STREAMS } from '../src/index.ts';
import { bucketStream } from '../src/names.ts';
import { type StoredFact, voidMarks } from '../src/removal-marks.ts';
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
const nothing: ServiceContract = { about: 'x', owns: [], reads: [], serves: [], calls: [], publishes: [], hears: [] };
const contracts: Record<ServiceName, ServiceContract> = {
  ...(Object.fromEntries(serviceNames.map((name) => [name, nothing])) as Record<ServiceName, ServiceContract>),
  'config-sources': { ...nothing, owns: [color] },
  'sync-loop': { ...nothing, reads: [color] },
  'pod-workers': { ...nothing, reads: [color] },
};

describe('a removal mark is void', () => {
  const subject = (key: string) => `$KV.kubus_n.config.fact.color.${key}`;
  const of = (key: string, parts: Partial<StoredFact> = {}): StoredFact => ({
    subject: subject(key),
    source: 'config-sources-0',
    epoch: 1,
    version: 5,
    time: 1_000,
    seq: 5,
    removed: true,
    ...parts,
  });
  const complete = (parts: Partial<StoredFact> = {}) =>
    of('=complete.config-sources-0', { version: 6, seq: 6, removed: false, ...parts });

  test.each<[string, StoredFact[], boolean]>([
    ['before a later completion mark', [of('a'), complete()], true],
    ['of an earlier epoch', [of('a', { version: 99 }), complete({ epoch: 2, version: 1 })], true],
    ['not after the last completion mark', [of('a', { version: 7 }), complete()], false],
    [
      'not if its owner has not completed its set since a restart',
      [of('a', { epoch: 2, version: 1 }), complete()],
      false,
    ],
    ['not without any completion mark', [of('a')], false],
    ['not with the completion mark of another instance', [of('a', { source: 'config-sources-1' }), complete()], false],
    ['not if it is too new', [of('a', { time: 2_000 }), complete()], false],
    ['a value', [of('a', { removed: false }), complete()], false],
  ])('%s', (_what, stored, isVoid) => {
    expect(voidMarks(stored, 2_000)).toEqual(isVoid ? [stored[0]] : []);
    expect(voidMarks([...stored].reverse(), 2_000)).toEqual(isVoid ? [stored[0]] : []);
  });
});

describe('removal marks in the store', () => {
  const server = new TestNatsServer();
  const open: NatsConnection[] = [];

  beforeEach(async () => {
    await server.start(
      'n',
      contracts,
      serviceNames.map((service) => ({ service, instance: `${service}-0` })),
    );
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
    await server.stop();
  });

  async function connection(service: ServiceName | typeof STREAMS): Promise<NatsConnection> {
    const instance = `${service}-0`;
    const made = await server.connect(instance);
    open.push(made);
    return made;
  }

  async function join(service: ServiceName, epoch = 1): Promise<Bus> {
    const instance = `${service}-0`;
    const contract = contracts[service];
    const transport = new NatsTransport({
      connection: await connection(service),
      node: 'n',
      instance,
      clock,
      ids,
      logger: silentLogger,
    });
    return new Bus({ node: 'n', service, instance, epoch, contract, transport, clock, ids, logger: silentLogger });
  }

  test('are purged if void, and a later reader has the same state', async () => {
    await server.makeStreams();
    const streams = await connection(STREAMS);
    const owner = (await join('config-sources')).owner(color);
    const removedLast = Promise.withResolvers<undefined>();
    const seen = Promise.withResolvers<undefined>();
    const completeAgain = Promise.withResolvers<undefined>();
    const early = (await join('sync-loop')).reader(color, {
      changed: ({ key }) => key === 'last' && seen.resolve(undefined),
      removed: ({ key }) => key === 'last' && removedLast.resolve(undefined),
      complete: (_instance, epoch) => epoch === 2 && completeAgain.resolve(undefined),
    });
    for (const key of ['gone', 'again', 'stays', 'last']) owner.put(key, 'red');
    await seen.promise;
    for (const key of ['gone', 'again']) owner.remove(key);
    owner.put('again', 'blue');
    owner.complete();
    owner.remove('last');
    await removedLast.promise;

    const base = { connection: streams, node: 'n', clock, ids, logger: silentLogger };
    const marksOf = (options: { growth: number; ageMs: number }) => {
      const marks = new RemovalMarks({ ...base, ...options });
      marks.stop();
      return marks;
    };
    expect(await marksOf({ growth: 0, ageMs: 60_000 }).look()).toBe(0);
    const stored = async () => (await (await jetstreamManager(streams)).streams.info(bucketStream('n'))).state;
    const { last_seq: last } = await stored();
    expect(await marksOf({ growth: last + 1, ageMs: -60_000 }).look()).toBe(0);
    // Not `last`: its owner's completion mark still lists it.
    const marks = marksOf({ growth: 3, ageMs: -60_000 });
    expect(await marks.look()).toBe(1);
    expect(await marksOf({ growth: 0, ageMs: -60_000 }).look()).toBe(0);

    const late = (await join('pod-workers')).reader(color);
    await late.whenPresent();
    for (const reader of [early, late]) {
      expect([...reader].map(({ key, value }) => `${key} ${value}`).sort()).toEqual(['again blue', 'stays red']);
      expect(reader.completed('config-sources-0')).toBe(1);
    }

    const restarted = (await join('config-sources', 2)).owner(color);
    for (const [key, value] of [
      ['stays', 'red'],
      ['again', 'blue'],
    ] as const)
      restarted.put(key, value);
    restarted.complete();
    await completeAgain.promise;
    // `last`: what was read the first time is known.
    expect(await marks.look()).toBe(1);
    expect((await stored()).messages).toBe(3);
  });
});
