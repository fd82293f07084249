import { beforeEach, describe, expect, test } from '@jest/globals';
import { fact } from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';
import * as z from 'zod';
import { FactReader } from './fact-reader.ts';
import { HEADER } from './envelope.ts';
import type { Refusals } from './refusals.ts';
import type { FactListener, Transport, WireMessage } from './transport.ts';

let parsed: string[] = [];
const color = fact({
  area: 'config',
  name: 'color',
  key: 'name',
  owner: 'config-sources',
  payload: z.object({ color: z.string().transform((text) => (parsed.push(text), text)) }),
  about: 'x',
});
const clock: Clock = { now: () => 0, after: (): Cancel => () => undefined };

/** A reader, and the store from which it reads. */
class Bench {
  readonly refused: string[] = [];
  readonly reader: FactReader<{ color: string }>;
  #listener: FactListener | undefined;
  #version = 0;

  constructor(lazy: boolean) {
    const transport = {
      connected: true,
      onConnection: () => () => undefined,
      watchFacts: (_pattern: string, listener: FactListener) => {
        this.#listener = listener;
        return () => undefined;
      },
    } as unknown as Transport;
    const refusals = { refuse: (message: WireMessage) => void this.refused.push(message.data) } as unknown as Refusals;
    this.reader = new FactReader({ declaration: color, node: 'n', transport, clock, handlers: { lazy }, refusals });
    this.#listener?.present();
  }

  put(data: string, id = 1, removed = false): void {
    this.#version += 1;
    const headers = {
      [HEADER.type]: 'config.fact.color/1',
      ...{ [HEADER.source]: 'config-sources-0', [HEADER.epoch]: '1', [HEADER.seq]: String(id) },
      ...{ [HEADER.time]: '2030-01-01T00:00:00.000000Z', [HEADER.node]: 'n', [HEADER.version]: String(this.#version) },
      [HEADER.trace]: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
      ...(removed && { [HEADER.removed]: 'true' }),
    };
    this.#listener?.message({ subject: 'kubus.n.config.fact.color.sky', headers, data });
  }

  get now(): string | undefined {
    return this.reader.get('sky')?.value.color;
  }
}

const of = (name: string) => JSON.stringify({ color: name });

beforeEach(() => {
  parsed = [];
});

describe('a lazy reader', () => {
  test('parses only what is read, once', () => {
    const one = new Bench(true);
    one.put(of('blue'), 1);
    one.put(of('grey'), 2);
    expect(parsed).toEqual([]);
    expect([one.now, one.now, [...one.reader].map(({ value }) => value.color)]).toEqual(['grey', 'grey', ['grey']]);
    expect(parsed).toEqual(['grey']);
  });

  test('refuses an invalid value when it is read, and an earlier one stays', () => {
    const one = new Bench(true);
    one.put('{}', 1);
    expect(one.refused).toEqual([]);
    expect([one.now, one.now, one.refused]).toEqual([undefined, undefined, ['{}']]);
    one.put(of('blue'), 2);
    expect(one.now).toBe('blue');
    one.put('{}', 3);
    one.put('[]', 4);
    expect([one.now, one.refused]).toEqual(['blue', ['{}', '[]']]);
    one.put(of('grey'), 5);
    expect(one.now).toBe('grey');
    const other = new Bench(true);
    other.put(of('red'), 1);
    other.put('{}', 2);
    expect([other.now, other.refused]).toEqual(['red', ['{}']]);
    one.put('', 6, true);
    expect([one.now, [...one.reader]]).toEqual([undefined, []]);
  });
});

describe('readers in one process', () => {
  test('parse a message once, and share its value, which cannot be changed', () => {
    const readers = [new Bench(false), new Bench(false), new Bench(true)];
    for (const one of readers) one.put(of('blue'), 1);
    const values = readers.map(({ reader }) => reader.get('sky')?.value);
    expect(parsed).toEqual(['blue']);
    expect(new Set(values).size).toBe(1);
    expect(Object.isFrozen(values[0])).toBe(true);
  });

  test('never take another message with the same ID for it', () => {
    const [one, other] = [new Bench(false), new Bench(false)];
    one.put(of('blue'), 7);
    other.put(of('grey'), 7);
    expect([one.now, other.now]).toEqual(['blue', 'grey']);
  });
});
