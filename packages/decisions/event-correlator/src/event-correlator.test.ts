import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { EventCorrelator, type Occurrence } from './event-correlator.ts';

const START = Date.UTC(2030, 0, 1);
const MINUTE = 60_000;

function event(change: Partial<Occurrence> = {}): Occurrence {
  return { object: 'a', type: 'Warning', reason: 'BackOff', message: 'no', ...change };
}

test('a repeated event has the series of the first one, and is counted', () => {
  const correlator = new EventCorrelator('pod-workers-0.7');
  const at = (ms: number) => new Date(START + ms).toISOString();
  const published = [0, 5_000, 9_000].map((ms) => correlator.correlate(event(), START + ms));
  const common = { message: 'no', firstTimestamp: at(0), series: 'pod-workers-0.7.1' };
  expect(published).toEqual([
    { ...common, count: 1, lastTimestamp: at(0) },
    { ...common, count: 2, lastTimestamp: at(5_000) },
    { ...common, count: 3, lastTimestamp: at(9_000) },
  ]);
});

test.each([
  ['message', { message: 'other' }],
  ['reason', { reason: 'Failed' }],
  ['container', { fieldPath: 'spec.containers{web}' }],
  ['type', { type: 'Normal' as const }],
  ['pod', { object: 'b' }],
])('a different %s starts a new series', (_, change) => {
  const correlator = new EventCorrelator('it');
  correlator.correlate(event(), START);
  expect(correlator.correlate(event(change), START)).toMatchObject({ count: 1, series: 'it.2' });
});

test('an object that is forgotten begins anew; others, even with a longer name, do not', () => {
  const correlator = new EventCorrelator('it');
  const limit = Array.from({ length: 26 }, (_, at) => ({ message: `m${at}` }));
  for (const object of ['a', 'ab'])
    for (const change of limit) correlator.correlate(event({ object, ...change }), START);
  expect(correlator.correlate(event(), START)).toBeUndefined();
  correlator.forget('a');
  expect(correlator.correlate(event(), START)).toMatchObject({ message: 'no', count: 1 });
  expect(correlator.correlate(event({ object: 'ab' }), START)).toBeUndefined();
});

describe('events of one reason', () => {
  /** The result of `count` events with different messages. */
  function published(correlator: EventCorrelator, count: number, now: number, from = 0) {
    return Array.from({ length: count }, (_, at) => correlator.correlate(event({ message: `m${from + at}` }), now));
  }

  test('become one series from the tenth message on', () => {
    const correlator = new EventCorrelator('it');
    const all = published(correlator, 12, START);
    expect(all.slice(0, 9).map((one) => one?.message)).toEqual(Array.from({ length: 9 }, (_, at) => `m${at}`));
    expect(all.slice(9)).toMatchObject([
      { message: '(combined from similar events): m9', count: 1, series: 'it.10' },
      { message: '(combined from similar events): m10', count: 2, series: 'it.10' },
      { message: '(combined from similar events): m11', count: 3, series: 'it.10' },
    ]);
  });

  test('are published unchanged again after ten minutes without one', () => {
    const correlator = new EventCorrelator('it');
    published(correlator, 10, START);
    const [soon] = published(correlator, 1, START + 10 * MINUTE, 20);
    expect(soon?.message).toBe('(combined from similar events): m20');
    const [late] = published(correlator, 1, START + 20 * MINUTE + 1, 30);
    expect(late).toMatchObject({ message: 'm30', count: 1 });
  });

  test('with the same message are not combined', () => {
    const correlator = new EventCorrelator('it');
    const all = Array.from({ length: 20 }, () => correlator.correlate(event(), START));
    expect(all.every((one) => one?.message === 'no')).toBe(true);
  });
});

describe('the events of one object', () => {
  test('are published 25 times, then once every five minutes; those that are not published are counted', () => {
    const correlator = new EventCorrelator('it');
    const at = (ms: number) => correlator.correlate(event(), START + ms)?.count;
    expect(Array.from({ length: 26 }, () => at(0))).toEqual([
      ...Array.from({ length: 25 }, (_, i) => i + 1),
      undefined,
    ]);
    expect(at(5 * MINUTE - 1)).toBeUndefined();
    expect(at(5 * MINUTE)).toBe(28);
    expect(at(5 * MINUTE)).toBeUndefined();
  });

  test.each([
    ['reason', { reason: 'Failed' }, false],
    ['container', { fieldPath: 'spec.containers{web}' }, false],
    ['type', { type: 'Normal' as const }, true],
    ['object', { object: 'b' }, true],
  ])('above the limit do not limit an event with another %s', (_, change, published) => {
    const correlator = new EventCorrelator('it');
    for (let time = 0; time < 30; time += 1) correlator.correlate(event(), START);
    expect(correlator.correlate(event(change), START) !== undefined).toBe(published);
  });

  test('are published at most 25 times at once, even after a long time without events', () => {
    const correlator = new EventCorrelator('it');
    correlator.correlate(event(), START);
    const later = START + 1_000 * MINUTE;
    const published = Array.from({ length: 40 }, () => correlator.correlate(event(), later));
    expect(published.filter((one) => one !== undefined)).toHaveLength(25);
  });
});

test('in any history, counts of a series grow, its first timestamp is kept, and no object exceeds its limit of events of one type', () => {
  const happening = fc.record({
    object: fc.constantFrom('a', 'b'),
    type: fc.constantFrom('Normal' as const, 'Warning' as const),
    reason: fc.constantFrom('Unhealthy', 'BackOff'),
    message: fc.nat(15).map(String),
    waitMs: fc.nat(5 * MINUTE),
  });
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 200 }), (happenings) => {
      const correlator = new EventCorrelator('it');
      const series = new Map<string, { count: number; firstTimestamp: string }>();
      const published = new Map<string, number>();
      let now = START;
      for (const { waitMs, ...change } of happenings) {
        now += waitMs;
        const one = correlator.correlate(event(change), now);
        if (one === undefined) continue;
        const before = series.get(one.series);
        expect(one.count).toBeGreaterThan(before?.count ?? 0);
        if (before !== undefined) expect(one.firstTimestamp).toBe(before.firstTimestamp);
        series.set(one.series, one);
        const source = `${change.object} ${change.type}`;
        published.set(source, (published.get(source) ?? 0) + 1);
        expect(published.get(source)).toBeLessThanOrEqual(25 + (now - START) / (5 * MINUTE));
      }
    }),
  );
});
