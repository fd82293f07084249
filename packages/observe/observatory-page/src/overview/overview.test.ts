import { describe, expect, test } from '@jest/globals';
import type { DensityDocument, PodSummary } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { messagesIn, rangeAfterKey, rangeOf, rangeQuery, saidByService, stackDensity } from './density-layout.ts';
import { podsMatching } from './pods-matching.ts';

const density: DensityDocument = {
  from: 100,
  to: 140,
  bucketMs: 10,
  services: [
    { service: 'sync-loop', counts: [1, 0, 3, 0] },
    { service: 'config-sources', counts: [2, 0, 1, 4] },
  ],
};

test('services are stacked without gaps, in the order in which a pod reaches them', () => {
  const { bars, max } = stackDensity(density);
  expect(max).toBe(4);
  expect(bars.filter(({ bucket }) => bucket === 2)).toEqual([
    { service: 'config-sources', bucket: 2, base: 0, top: 1 },
    { service: 'sync-loop', bucket: 2, base: 1, top: 4 },
  ]);
  expect(bars.some(({ bucket }) => bucket === 1)).toBe(false);
});

test('the messages of each service are added up', () => {
  expect(saidByService(density)).toEqual([
    { service: 'config-sources', messages: 7, rate: 175 },
    { service: 'sync-loop', messages: 4, rate: 100 },
  ]);
  expect(saidByService({ ...density, to: 100 }).map(({ rate }) => rate)).toEqual([0, 0]);
});

test.each([
  [{ from: 100, to: 140 }, 11],
  [{ from: 0, to: 1000 }, 11],
  [{ from: 120, to: 135 }, 6],
  [{ from: 110, to: 120 }, 0],
])('the range %j holds about %d messages', (range, messages) => {
  expect(messagesIn(density, range)).toBe(messages);
});

describe('the keys for a range', () => {
  const whole = { from: 0, to: 1000 };

  test('the first arrow key creates one, Escape clears it', () => {
    expect(rangeAfterKey(whole, undefined, 'ArrowRight', false)).toEqual({ from: 0, to: 100 });
    expect(rangeAfterKey(whole, undefined, 'ArrowLeft', false)).toEqual({ from: 900, to: 1000 });
    expect(rangeAfterKey(whole, { from: 1, to: 2 }, 'Escape', false)).toBe('none');
    expect(rangeAfterKey(whole, undefined, 'Escape', false)).toBeUndefined();
    expect(rangeAfterKey(whole, undefined, 'x', false)).toBeUndefined();
  });

  test('it stays within the chart, and moving keeps its length', () => {
    const keys = fc.array(fc.tuple(fc.constantFrom('ArrowLeft', 'ArrowRight'), fc.boolean()), { maxLength: 60 });
    fc.assert(
      fc.property(keys, (pressed) => {
        let range = { from: 400, to: 500 };
        for (const [key, shift] of pressed) {
          const next = rangeAfterKey(whole, range, key, shift);
          if (next === undefined || next === 'none') throw new Error('an arrow key always leads somewhere');
          if (!shift) expect(next.to - next.from).toBeCloseTo(range.to - range.from, 6);
          range = next;
          expect(range.from).toBeGreaterThanOrEqual(0);
          expect(range.to).toBeLessThanOrEqual(1000);
          expect(range.to).toBeGreaterThan(range.from);
        }
      }),
    );
  });
});

test('a range is read from the address; an invalid one is ignored', () => {
  const query = rangeQuery({ from: 1.25, to: 9 });
  expect(rangeOf({ from: query.from ?? '', to: query.to ?? '' })).toEqual({ from: 1.25, to: 9 });
  expect(rangeOf({})).toBeUndefined();
  expect(rangeOf({ from: '9', to: '1' })).toBeUndefined();
  expect(rangeOf({ from: 'x', to: '1' })).toBeUndefined();
});

test('pods match by all words and by the range', () => {
  const pod = (name: string, firstAt: number, phase: string): PodSummary => ({
    uid: `uid-${name}`,
    namespace: 'shop',
    name,
    firstAt,
    lastAt: firstAt + 10,
    messages: 1,
    phase,
    state: phase === 'Running' ? 'ready' : 'starting',
  });
  const pods = [pod('web-1', 0, 'Running'), pod('web-2', 100, 'Pending')];
  const names = (text: string, range?: { from: number; to: number }): string[] =>
    podsMatching(pods, text, range).map(({ name }) => name);
  expect(names('')).toEqual(['web-1', 'web-2']);
  expect(names(' SHOP/web pend ')).toEqual(['web-2']);
  expect(names('uid-web-1')).toEqual(['web-1']);
  expect(names('web', { from: 5, to: 50 })).toEqual(['web-1']);
  expect(names('web', { from: 50, to: 60 })).toEqual([]);
});
