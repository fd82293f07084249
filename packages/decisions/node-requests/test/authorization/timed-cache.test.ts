import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TimedCache } from '../../src/index.ts';

test('a value is valid until it expires, and not a moment longer', () => {
  const cache = new TimedCache<number>(10);
  cache.set('a', 1, 1000, 50);
  expect(cache.get('a', 1049)).toBe(1);
  expect(cache.get('a', 1050)).toBeUndefined();
  cache.set('b', 1, 1000, 0);
  expect(cache.get('b', 1000)).toBeUndefined();
});

test('the cache contains the values that were set last and have not expired, never more than its size', () => {
  const step = fc.record({ key: fc.nat({ max: 9 }), wait: fc.nat({ max: 5 }), holds: fc.nat({ max: 20 }) });
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 1, max: 5 }), (steps, size) => {
      const cache = new TimedCache<number>(size);
      let now = 0;
      let last = new Map<string, { value: number; until: number }>();
      for (const [index, { key, wait, holds }] of steps.entries()) {
        now += wait;
        cache.set(String(key), index, now, holds);
        last.delete(String(key));
        last = new Map([...last, [String(key), { value: index, until: now + holds }]]);
        let found = 0;
        for (const [name, { value, until }] of last) {
          const got = cache.get(name, now);
          if (got !== undefined) found += 1;
          if (now >= until) expect(got).toBeUndefined();
          else if (got !== undefined) expect(got).toBe(value);
        }
        expect(found).toBeLessThanOrEqual(size);
        if (holds > 0) expect(cache.get(String(key), now)).toBe(index);
      }
    }),
  );
});
