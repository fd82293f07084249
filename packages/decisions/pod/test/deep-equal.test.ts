import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isDeepEqual } from '../src/index.ts';

test.each([
  [{ a: 1, b: [2, { c: null }] }, { b: [2, { c: null }], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{ a: null }, {}, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [{ a: [] }, { a: {} }, false],
  [{ length: 0 }, [], false],
  [1, '1', false],
  [null, undefined, false],
  [{ a: { b: 1 } }, { a: { b: 2 } }, false],
])('%j and %j are equal: %j', (a, b, same) => {
  expect(isDeepEqual(a, b)).toBe(same);
  expect(isDeepEqual(b, a)).toBe(same);
});

test('isDeepEqual agrees with a comparison of canonical texts', () => {
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === 'object' && value !== null
        ? {
            members: Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([key, member]) => [key, sorted(member)]),
          }
        : value;
  const small = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
  fc.assert(
    fc.property(small, small, (a, b) => {
      expect(isDeepEqual(a, structuredClone(a))).toBe(true);
      expect(isDeepEqual(a, b)).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
    }),
  );
});
