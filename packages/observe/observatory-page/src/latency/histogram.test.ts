import { expect, test } from '@jest/globals';
import type { LatencyDocument } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { histogramOf, spreadOf } from './histogram.ts';

/** Pods whose start has two steps; null omits the second one. */
function latencyOf(rows: readonly (readonly [number, number | null])[]): LatencyDocument {
  const segment = (step: string, service: string, ms: readonly (number | null)[]) => ({
    step,
    service,
    ms,
    p50: 0,
    p95: 0,
    max: 0,
  });
  return {
    what: 'start',
    pods: rows.map((_, index) => ({
      ...{ uid: `u${index}`, namespace: 'n', name: 'p', firstAt: 0, lastAt: 1, messages: 1 },
      state: 'ready' as const,
    })),
    ms: rows.map(([first, second]) => first + (second ?? 0)),
    segments: [
      segment(
        'one',
        'sync-loop',
        rows.map(([first]) => first),
      ),
      segment(
        'two',
        'cri-bridge',
        rows.map(([, second]) => second),
      ),
    ],
  };
}

const rows = fc.array(
  fc.tuple(fc.double({ min: 0.1, max: 500, noNaN: true }), fc.option(fc.double({ min: 0.1, max: 500, noNaN: true }))),
  { minLength: 1, maxLength: 60 },
);

test('each pod is in the bar of its latency, and the parts of a bar add up to the bar', () => {
  fc.assert(
    fc.property(rows, (pods) => {
      const document = latencyOf(pods);
      const bars = histogramOf(document, undefined, 20);
      expect(bars.flatMap((bar) => bar.pods).sort((a, b) => a - b)).toEqual(pods.map((_, index) => index));
      for (const bar of bars) {
        for (const pod of bar.pods) {
          expect(document.ms[pod]).toBeGreaterThanOrEqual(bar.from);
          expect(document.ms[pod]).toBeLessThanOrEqual(bar.to);
        }
        expect(bar.parts.reduce((sum, part) => sum + part.pods, 0)).toBeCloseTo(bar.pods.length, 6);
      }
    }),
  );
});

test('the histogram of a step counts only pods that took it', () => {
  const bars = histogramOf(
    latencyOf([
      [1, 5],
      [2, null],
      [3, 6],
    ]),
    'two',
    10,
  );
  expect(bars.flatMap(({ pods }) => pods)).toEqual([0, 2]);
  expect(new Set(bars.flatMap(({ parts }) => parts.map(({ service }) => service)))).toEqual(new Set(['cri-bridge']));
});

test('without pods there are no bars', () => {
  expect(histogramOf(latencyOf([]), undefined, 10).flatMap(({ pods }) => pods)).toEqual([]);
  expect(spreadOf([])).toEqual({ pods: 0, p50: 0, p95: 0, max: 0 });
});

test('the spread is computed from pods that have a value', () => {
  expect(spreadOf([4, null, 1, 3, 2, 5])).toMatchObject({ pods: 5, p50: 3, max: 5 });
});
