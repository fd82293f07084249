import { expect, test } from '@jest/globals';
import type { SignalDocument } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { layoutPressure } from './pressure-layout.ts';
import { chartWords, graceWords, leftWords, percent, reachedWords, stateWords } from './pressure-words.ts';

const hard = { value: '200Mi', part: 0.026, graceSeconds: 0 };
const soft = { value: '10%', part: 0.1, graceSeconds: 90 };
const none: SignalDocument = { signal: 'memory.available', thresholds: [], curve: [] };
const plain = (text: string): string => text.replaceAll('\u202f', ' ');

test('the conditions are named, with how long they last', () => {
  const shown = { conditions: ['MemoryPressure', 'DiskPressure'], transitionSeconds: 300, signals: [] };
  expect(plain(stateWords(shown))).toBe(
    'The node is short: MemoryPressure, DiskPressure. A condition lasts 5 min 0 s after its last reason.',
  );
  expect(stateWords({ ...shown, conditions: [] })).toBe('The node is short of nothing.');
});

test('a threshold says of which kind it is and when it is reached', () => {
  expect([graceWords(hard), graceWords(soft)].map(plain)).toEqual(['hard', 'soft, after 1 min 30 s']);
  expect(plain(reachedWords({ secondsLeft: 68 }))).toBe('reached in 1 min 8 s');
  expect(reachedWords({ secondsLeft: 0, since: Date.UTC(2030, 0, 1) })).toMatch(/^below it since \d\d:00:00$/);
  expect(reachedWords({})).toBe('comes no nearer');
});

test('a signal says what is left, and its chart the course and the thresholds', () => {
  expect(leftWords(none)).toBe('could not be read');
  expect(leftWords({ ...none, available: '1 GiB', capacity: '2 GiB', change: '-1 B/s' })).toBe(
    '1 GiB of 2 GiB, -1 B/s',
  );
  expect(chartWords(none)).toBe('memory.available: no reading');
  const at = Date.UTC(2030, 0, 1);
  const curve = [
    { at, part: 0.5 },
    { at: at + 600_000, part: 0.08 },
  ];
  expect(plain(chartWords({ ...none, curve: curve.slice(1) }))).toBe('memory.available: 8.0 %');
  expect(plain(chartWords({ ...none, curve, thresholds: [hard, { value: '15%', graceSeconds: 90 }] }))).toBe(
    'memory.available over 10 min 0 s: from 50 % to 8.0 % of the capacity; hard threshold 200Mi at 2.6 %; soft, after 1 min 30 s threshold 15%',
  );
  expect([0, 0.5, 1].map((part) => plain(percent(part)))).toEqual(['0 %', '50 %', '100 %']);
});

test('everything is drawn within the frame, and less left is lower', () => {
  const part = fc.integer({ min: 0, max: 1000 }).map((mille) => mille / 1000);
  const threshold = fc.record({ value: fc.constantFrom('1', '2'), part, graceSeconds: fc.constantFrom(0, 30) });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 61 }), fc.array(threshold, { maxLength: 3 }), (parts, thresholds) => {
      const curve = parts.map((one, index) => ({ at: 1_000_000 + index * 10_000, part: one }));
      const size = { width: 340, height: 110 };
      const {
        path,
        newest,
        thresholds: lines,
        left,
        right,
        bottom,
      } = layoutPressure({ ...none, curve, thresholds }, size);
      expect(path.match(/[ML]/g) ?? []).toHaveLength(curve.length);
      const drawn = [...path.matchAll(/[ML]([\d.-]+) ([\d.-]+)/g)].map(([, x, y]) => ({ x: Number(x), y: Number(y) }));
      for (const { x, y } of drawn) {
        expect(x).toBeGreaterThanOrEqual(left);
        expect(x).toBeLessThanOrEqual(right);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(bottom);
      }
      expect(newest === undefined).toBe(curve.length === 0);
      for (const [index, line] of lines.entries()) {
        const own = thresholds[index]?.part ?? 0;
        const last = parts.at(-1);
        if (newest !== undefined && last !== undefined)
          expect(Math.sign(line.y - newest.y)).toBe(Math.sign(last - own));
      }
    }),
  );
});

test('a single reading is at the right of a minute', () => {
  const { newest, right, from, to } = layoutPressure(
    { ...none, curve: [{ at: 100_000, part: 0.5 }] },
    { width: 300, height: 100 },
  );
  expect([newest?.x, to - from]).toEqual([right, 60_000]);
});
