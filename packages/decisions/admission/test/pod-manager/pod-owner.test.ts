import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ownerOf } from '../../src/index.ts';

const uid = fc.oneof(fc.uuid(), fc.stringMatching(/^[0-9a-f]{32}$/), fc.string());
const instances = fc
  .uniqueArray(fc.nat({ max: 31 }), { minLength: 1, maxLength: 8 })
  .map((slots) => slots.map((slot) => `pod-workers-${slot}`));

describe('the owner of a pod', () => {
  test('is one of the instances, and the same in whatever order they are listed', () => {
    fc.assert(
      fc.property(uid, instances, fc.func(fc.integer()), (one, all, order) => {
        const owner = ownerOf(one, all);
        expect(all).toContain(owner);
        expect(
          ownerOf(
            one,
            all.toSorted((a, b) => order(a) - order(b)),
          ),
        ).toBe(owner);
      }),
    );
  });

  test('changes only to an added instance, or from a removed one', () => {
    fc.assert(
      fc.property(uid, instances, (one, all) => {
        const [other = '', ...rest] = all;
        fc.pre(rest.length > 0);
        const before = ownerOf(one, rest);
        const after = ownerOf(one, all);
        expect([before, other]).toContain(after);
      }),
    );
  });

  test.each([2, 3, 8])(
    'is each of %i instances for about as many pods, even when their UIDs differ little',
    (count) => {
      const all = Array.from({ length: count }, (_, slot) => `pod-workers-${slot}`);
      const had = new Map(all.map((instance) => [instance, 0]));
      const pods = 2_000;
      for (let pod = 0; pod < pods; pod++) {
        const owner = ownerOf(`uid-${pod}`, all);
        had.set(owner, (had.get(owner) ?? 0) + 1);
      }
      for (const number of had.values()) {
        expect(number).toBeGreaterThan((0.8 * pods) / count);
        expect(number).toBeLessThan((1.2 * pods) / count);
      }
    },
  );
});
