import { describe, expect, test } from '@jest/globals';
import { type FactDeclaration, fact } from '@kubus/contracts';
import { type LogFields, type Logger, silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import * as z from 'zod';
import { HEADER } from './envelope.ts';
import { FactOwner } from './fact-owner.ts';
import { MAX_CAUSES, Publisher } from './publisher.ts';
import { MessageTooLarge, type Transport, type WireMessage } from './transport.ts';

const color: FactDeclaration<string> = fact({
  area: 'config',
  name: 'color',
  key: 'name',
  owner: 'config-sources',
  payload: z.string(),
  about: 'x',
});
const publisherId = { node: 'n', instance: 'config-sources-0', epoch: 1 };

/**
 * An owner whose store refuses what `refuse` returns an error for, with all that it tried to store and logged, and what delivers a message
 * of the store to it.
 */
function ownerOf(refuse: (key: string) => Error | undefined) {
  const clock = new ManualClock();
  const tried: string[] = [];
  const lines: string[] = [];
  let connection: (connected: boolean) => void = () => undefined;
  let deliver: (message: WireMessage) => void = () => undefined;
  const write = (_fields: LogFields, message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, warn: write, error: write };
  const transport: Transport = {
    connected: true,
    onConnection: (listener) => {
      connection = listener;
      return () => undefined;
    },
    publish: () => undefined,
    subscribe: () => () => undefined,
    storeFact: (key) => {
      tried.push(key);
      const error = refuse(key);
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    },
    watchFacts: (_pattern, listener) => {
      deliver = (message) => listener.message(message);
      return () => undefined;
    },
  };
  const ids = { hex: (bytes: number) => '0'.repeat(2 * bytes), fraction: () => 0 };
  const publisher = new Publisher({ publisherId, clock, ids });
  const owner = new FactOwner({ declaration: color, publisherId, publisher, transport, clock, logger });
  return {
    ...{ owner, publisher, clock, tried, lines },
    reconnect: () => connection(true),
    deliver: (message: WireMessage) => deliver(message),
  };
}

describe('facts that cannot be stored', () => {
  test('are stored again after ever longer waits, with one line for each, however many they are', async () => {
    const { owner, clock, tried, lines } = ownerOf(() => new Error('no answer'));
    for (let one = 0; one < 500; one++) owner.put(String(one), 'red');
    await clock.advance(0);
    expect([tried.length, lines.length]).toEqual([500, 1]);
    tried.length = lines.length = 0;
    await clock.advance(600_000);
    // After 1, 3, 7, 15, 31, 63 s, and then each minute.
    expect([tried.length, lines.length]).toEqual([500 * 14, 14]);
  });

  test('are forgotten when newer ones are stored, and what fails later waits only for a second', async () => {
    let broken = true;
    const { owner, clock, tried } = ownerOf(() => (broken ? new Error('no answer') : undefined));
    owner.put('a', 'red');
    owner.complete();
    await clock.advance(20_000);
    broken = false;
    owner.put('a', 'blue');
    await clock.advance(60_000);
    tried.length = 0;
    await clock.advance(60_000);
    expect(tried).toEqual([]);
    broken = true;
    owner.put('a', 'green');
    await clock.advance(1_000);
    expect(tried).toHaveLength(2);
  });

  test('do not keep the completion mark from being stored again', async () => {
    let broken = true;
    const { owner, clock, tried } = ownerOf(() => (broken ? new Error('no answer') : undefined));
    owner.complete();
    await settled();
    broken = false;
    await clock.advance(1_000);
    expect(tried).toHaveLength(2);
  });

  test('because they are too large are tried once for each connection, and reported once', async () => {
    const { owner, clock, tried, lines, reconnect } = ownerOf(() => new MessageTooLarge('too-large', 'too large'));
    owner.put('a', 'red');
    await clock.advance(600_000);
    owner.put('a', 'redder');
    reconnect();
    await clock.advance(600_000);
    expect([tried.length, lines.length]).toEqual([3, 1]);
  });
});

test('a message that depended on thousands names the last awaited, and fits into the headers of NATS', () => {
  const { publisher } = ownerOf(() => undefined);
  const causes = Array.from({ length: 5_000 }, (_, received) => ({
    ...publisher.stamp('config.fact.manifest/1', {}).cause,
    received,
  }));
  const { headers } = publisher.stamp('config.fact.color/1', { causes });
  expect(headers['Kubus-Causes']?.split(',')).toEqual(
    causes
      .slice(-MAX_CAUSES)
      .reverse()
      .map(({ id }) => id),
  );
  expect(JSON.stringify(headers).length).toBeLessThan(64 * 1024);
});

describe('a removal among several instances', () => {
  /** The removal of an instance that owned the key in `term`. */
  const removal = (term: number): WireMessage => ({
    subject: 'kubus.n.config.fact.color.a',
    headers: {
      [HEADER.source]: 'config-sources-1',
      [HEADER.term]: String(term),
      [HEADER.epoch]: '1',
      [HEADER.version]: '9',
      [HEADER.removed]: 'true',
    },
    data: '',
  });

  test('is stored again when an earlier owner’s has replaced it, which readers of the last value disregard', async () => {
    const { owner, clock, tried, deliver } = ownerOf(() => undefined);
    owner.share();
    owner.claim('a', 2);
    owner.put('a', 'red');
    owner.remove('a');
    owner.release('a');
    await settled();
    tried.length = 0;
    deliver(removal(1));
    expect(tried).toEqual(['config.fact.color.a']);
    deliver(removal(3));
    expect(tried).toHaveLength(1);
    await clock.advance(60_000);
    deliver(removal(1));
    expect(tried).toHaveLength(1);
  });
});
