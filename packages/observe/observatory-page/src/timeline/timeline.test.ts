import { describe, expect, test } from '@jest/globals';
import type { MessageBrief, PodTimeline, WorkSpan } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { claimWords, deviceWords } from './device-words.ts';
import { layoutTimeline, markAfterKey, markAt, packSpans, spanAt } from './timeline-layout.ts';
import { type TimeView, around, moved, showing, zoomed } from './time-view.ts';

const message = (id: string, service: string, at: number, causes: readonly string[] = []): MessageBrief => ({
  seq: at,
  id,
  subject: 's',
  type: 'x.fact.y/1',
  kind: 'fact',
  source: `${service}-0`,
  service,
  at: 1000 + at,
  stored: 1000 + at,
  causes,
  summary: '',
  bytes: 1,
});

const span = (service: string, from: number, to: number): WorkSpan => ({
  name: 'work',
  service,
  from: 1000 + from,
  to: 1000 + to,
  messages: [],
});

const timeline: PodTimeline = {
  pod: { uid: 'u', namespace: 'n', name: 'p', firstAt: 1000, lastAt: 1100, messages: 4, state: 'ready' },
  answer: { state: 'ready', sentence: 'Ready.', next: [] },
  messages: [
    message('a.1.1', 'a', 0),
    message('c.1.1', 'c', 40, ['b.1.1', 'gone.1.1']),
    message('b.1.1', 'b', 10, ['a.1.1']),
    message('a.1.2', 'a', 100, ['c.1.1', 'a.1.1']),
  ],
  spans: [span('b', 10, 40), span('b', 20, 30), span('b', 45, 60)],
  paths: [],
  services: ['a', 'b', 'c'],
};
const layout = layoutTimeline(timeline);
const x = (at: number): number => at * 10;

test('messages are placed by time in the swimlane of their service, with their recorded causes', () => {
  expect(layout.marks.map(({ at, swimlane, causes }) => [at, swimlane, causes])).toEqual([
    [0, 0, []],
    [10, 1, [0]],
    [40, 2, [1]],
    [100, 0, [2, 0]],
  ]);
});

test('swimlanes do not overlap, and swimlanes with work have room for it', () => {
  const [a, b, c] = layout.swimlanes;
  expect(b?.top).toBe((a?.top ?? 0) + (a?.height ?? 0));
  expect(c?.top).toBe((b?.top ?? 0) + (b?.height ?? 0));
  expect(layout.height).toBe((c?.top ?? 0) + (c?.height ?? 0));
  for (const { top } of layout.spans) {
    expect(top).toBeGreaterThan(b?.middle ?? Infinity);
    expect(top).toBeLessThan(c?.top ?? 0);
  }
});

test('concurrent work is never in the same row', () => {
  const times = fc.tuple(fc.nat(100), fc.nat(30)).map(([from, length]) => span('b', from, from + length + 1));
  fc.assert(
    fc.property(fc.array(times, { maxLength: 30 }), (spans) => {
      const packed = packSpans(spans);
      expect(packed).toHaveLength(spans.length);
      packed.forEach((one, index) => {
        for (const other of packed.slice(index + 1)) {
          const together = one.span.from < other.span.to && other.span.from < one.span.to;
          expect(together && one.row === other.row).toBe(false);
        }
      });
    }),
  );
});

test('a pod without messages has a layout too', () => {
  const empty = layoutTimeline({ ...timeline, messages: [], spans: [], services: [] });
  expect(empty.marks).toEqual([]);
  expect(empty.whole.to).toBeGreaterThan(empty.whole.from);
  expect(markAfterKey(empty, undefined, 'ArrowRight')).toBeUndefined();
});

test('the pointer finds the mark or work under it', () => {
  const y = layout.swimlanes[1]?.middle ?? 0;
  expect(markAt(layout, { x: 103, y: y + 2 }, x)).toBe(1);
  expect(markAt(layout, { x: 130, y }, x)).toBeUndefined();
  const row = layout.spans[0];
  expect(spanAt(layout, { x: 205, y: (row?.top ?? 0) + 3 }, x)?.from).toBe(10);
  expect(spanAt(layout, { x: 430, y: (row?.top ?? 0) + 3 }, x)).toBeUndefined();
});

test.each([
  [undefined, 'ArrowRight', 0],
  [undefined, 'End', 3],
  [undefined, 'Enter', undefined],
  [0, 'ArrowRight', 1],
  [0, 'ArrowLeft', 0],
  [3, 'ArrowRight', 3],
  [0, 'End', 3],
  [3, 'Home', 0],
  [0, 'ArrowDown', 1],
  [1, 'ArrowDown', 2],
  [2, 'ArrowDown', 2],
  [2, 'ArrowUp', 1],
  [1, 'ArrowUp', 0],
  [3, 'c', 2],
  [0, 'c', undefined],
])('from mark %p the key %s moves to %p', (from, key, to) => {
  expect(markAfterKey(layout, from, key)).toBe(to);
});

describe('the visible section', () => {
  const whole: TimeView = { from: -10, to: 1000 };
  const inside = fc
    .tuple(fc.double({ min: -10, max: 990, noNaN: true }), fc.double({ min: 1, max: 1010, noNaN: true }))
    .map(([from, length]): TimeView => ({ from, to: Math.min(whole.to, from + length) }))
    .filter(({ from, to }) => to - from > 0.5);

  test('stays within the timeline', () => {
    fc.assert(
      fc.property(
        inside,
        fc.double({ min: -10, max: 1000, noNaN: true }),
        fc.double({ min: 0.01, max: 50, noNaN: true }),
        (view, at, factor) => {
          for (const next of [zoomed(view, whole, at, factor), moved(view, whole, at), showing(view, whole, at)]) {
            expect(next.from).toBeGreaterThanOrEqual(whole.from - 1e-6);
            expect(next.to).toBeLessThanOrEqual(whole.to + 1e-6);
            expect(next.to).toBeGreaterThan(next.from);
          }
        },
      ),
    );
  });

  test('keeps the point under the pointer in place when zooming', () => {
    expect(zoomed({ from: 100, to: 200 }, whole, 150, 0.5)).toEqual({ from: 125, to: 175 });
    expect(zoomed({ from: 100, to: 200 }, whole, 100, 0.5)).toEqual({ from: 100, to: 150 });
  });

  test('moves to a time only when it is not visible', () => {
    expect(showing({ from: 0, to: 100 }, whole, 50)).toEqual({ from: 0, to: 100 });
    expect(showing({ from: 0, to: 100 }, whole, 500)).toEqual({ from: 450, to: 550 });
  });

  test('has a margin around a path', () => {
    const view = around(100, 200, whole);
    expect(view.from).toBeLessThan(100);
    expect(view.to).toBeGreaterThan(200);
  });
});

test('devices and claims of a pod are listed in words', () => {
  expect(deviceWords({ container: 'main', resource: 'a.test/gpu', id: 'g0', nodes: '' })).toBe('main: a.test/gpu g0');
  expect(deviceWords({ container: 'main', resource: 'a.test/gpu', id: 'g0', nodes: '1' })).toBe(
    'main: a.test/gpu g0, NUMA node 1',
  );
  const claim = { claim: 'nic', driver: 'b.test', device: 'p/d', health: 'Unhealthy (hot)' };
  expect(claimWords(claim)).toBe('claim nic: p/d of b.test, Unhealthy (hot)');
});
