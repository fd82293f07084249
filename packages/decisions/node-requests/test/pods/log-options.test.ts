import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LogOptions, type Query, isRefused, parseLogOptions, sinceNanos } from '../../src/index.ts';

const none: LogOptions = {
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  limitBytes: undefined,
  sinceSeconds: undefined,
  sinceTime: undefined,
  stream: undefined,
};

function query(text: string): Query {
  const pairs = text.split('&').map((pair): [name: string, value: string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(
    pairs.map(([name]) => [name, pairs.flatMap(([other, value]) => (other === name ? [value] : []))]),
  );
}

describe('a log query', () => {
  test.each<[string, Partial<LogOptions>]>([
    ['', {}],
    ['unknown=1&container=c', {}],
    ['follow=true&previous=1&timestamps=yes', { follow: true, previous: true, timestamps: true }],
    ['follow=false&previous=0&timestamps=FALSE', {}],
    ['follow=', { follow: true }],
    ['follow=true&follow=false', { follow: true }],
    ['tailLines=0', { tailLines: 0 }],
    ['tailLines=+5', { tailLines: 5 }],
    ['tail=7&tailLines=3', { tailLines: 7 }],
    ['tail=all&tailLines=3', {}],
    ['tail=&tailLines=3', { tailLines: 3 }],
    ['limitBytes=1&sinceSeconds=1', { limitBytes: 1, sinceSeconds: 1 }],
    ['sinceTime=2030-01-01T00:00:00.5Z', { sinceTime: BigInt(Date.UTC(2030, 0, 1)) * 1_000_000n + 500_000_000n }],
    ['sinceTime=', {}],
    ['stream=All&tailLines=1', { tailLines: 1 }],
    ['stream=Stdout', { stream: 'stdout' }],
    ['stream=Stderr&limitBytes=9', { stream: 'stderr', limitBytes: 9 }],
  ])('%s is parsed', (text, options) => {
    expect(parseLogOptions(query(text))).toEqual({ ...none, ...options });
  });

  test.each(['tailLines=x', 'tailLines=', 'limitBytes=1.5', 'sinceSeconds=9223372036854775808', 'sinceTime=yesterday'])(
    '%s cannot be decoded',
    (text) => {
      expect(parseLogOptions(query(text))).toEqual({ status: 400, message: '{"message": "Unable to decode query."}' });
    },
  );

  test.each([
    'tailLines=-1',
    'tail=-1',
    'limitBytes=0',
    'limitBytes=-5',
    'sinceSeconds=0',
    'sinceSeconds=1&sinceTime=2030-01-01T00:00:00Z',
    'stream=stdout',
    'stream=',
    'stream=Stdout&tailLines=1',
  ])('%s is refused as invalid', (text) => {
    expect(parseLogOptions(query(text))).toEqual({ status: 422, message: '{"message": "Invalid request."}' });
  });

  test('with any content is parsed or refused', () => {
    const names = fc.constantFrom('tail', 'tailLines', 'limitBytes', 'sinceSeconds', 'sinceTime', 'stream', 'follow');
    const value = fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom('all', 'All', 'Stderr'));
    fc.assert(
      fc.property(fc.dictionary(names, fc.array(value, { maxLength: 2 })), (any) => {
        const options = parseLogOptions(any);
        if (isRefused(options)) return;
        expect(options.tailLines ?? 0).toBeGreaterThanOrEqual(0);
        expect(options.limitBytes ?? 1).toBeGreaterThanOrEqual(1);
        expect(options.sinceSeconds ?? 1).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});

test('lines are returned since a number of seconds before now, or since a time', () => {
  expect(sinceNanos({ ...none, sinceSeconds: 2 }, 5_000.4)).toBe(3_000_000_000n);
  expect(sinceNanos({ ...none, sinceTime: 7n }, 5_000)).toBe(7n);
  expect(sinceNanos(none, 5_000)).toBeUndefined();
});
