import { describe, expect, test } from '@jest/globals';
import { ID_UNIT, type IdRange } from '@kubus/contracts';
import fc from 'fast-check';
import { type IdPool, freeRange, poolProblem, subordinateIds, wholePool } from '../../src/pod-manager/id-ranges.ts';

const disjoint = (a: IdRange, b: IdRange) => a.hostId + a.length <= b.hostId || b.hostId + b.length <= a.hostId;

describe('the pool of all ids except the host’s', () => {
  test.each([
    [ID_UNIT, 65_534 * ID_UNIT],
    [3 * ID_UNIT, 21_844 * 3 * ID_UNIT],
  ])('for %i ids per pod has the expected number of ids', (idsPerPod, count) => {
    expect(wholePool(idsPerPod)).toEqual({ first: idsPerPod, count, idsPerPod });
    expect(poolProblem(wholePool(idsPerPod), 110)).toBeUndefined();
  });
});

test.each([
  ['0: kubelet 65536 2147483648\n', { first: 65_536, count: 2_147_483_648 }],
  ['', undefined],
  ['0: kubelet 65536 65536\n1: kubelet 200000 65536\n', undefined],
  ['Error fetching ranges\n', undefined],
])('the getsubids output %j is parsed', (text, ids) => {
  expect(subordinateIds(text, text)).toEqual(ids);
  expect(subordinateIds(text, `${text}0: kubelet 1 1\n`)).toBeUndefined();
});

test.each([
  [{ first: 65_536, count: 110 * 65_536 }, undefined],
  [{ first: 0, count: 110 * 65_536 }, "the first id, 0, is below 65536: it may be the host's own"],
  [{ first: 100_000, count: 110 * 65_536 }, 'the first id, 100000, is not a multiple of 65536, the ids of a pod'],
  [{ first: 65_536, count: 10_000_000 }, 'their number, 10000000, is not a multiple of 65536, the ids of a pod'],
  [{ first: 65_536, count: 65_536 }, '65536 ids are not enough for 110 pods with 65536 ids each'],
])('the pool %j has the problem: %s', (ids, problem) => {
  expect(poolProblem({ ...ids, idsPerPod: 65_536 }, 110)).toBe(problem);
});

describe('a free range', () => {
  const small: fc.Arbitrary<IdPool> = fc
    .record({
      per: fc.integer({ min: 1, max: 3 }),
      from: fc.integer({ min: 1, max: 5 }),
      pods: fc.integer({ min: 1, max: 9 }),
    })
    .map(({ per, from, pods }) => {
      const idsPerPod = per * ID_UNIT;
      return { first: from * idsPerPod, count: pods * idsPerPod, idsPerPod };
    });

  test('is in the pool, overlaps no range in use, and is found as long as one is free', () => {
    fc.assert(
      fc.property(small, fc.uniqueArray(fc.uuid(), { maxLength: 12 }), (pool, uids) => {
        const taken: IdRange[] = [];
        for (const uid of uids) {
          const range = freeRange(pool, uid, taken);
          expect(range === undefined).toBe(taken.length === pool.count / pool.idsPerPod);
          if (range === undefined) continue;
          expect(range).toEqual({ hostId: expect.any(Number), length: pool.idsPerPod });
          expect((range.hostId - pool.first) % pool.idsPerPod).toBe(0);
          expect(range.hostId).toBeGreaterThanOrEqual(pool.first);
          expect(range.hostId + range.length).toBeLessThanOrEqual(pool.first + pool.count);
          expect(taken.every((other) => disjoint(other, range))).toBe(true);
          taken.push(range);
        }
      }),
    );
  });

  test('overlaps no range that was assigned with another number of ids per pod', () => {
    fc.assert(
      fc.property(small, small, fc.uniqueArray(fc.uuid(), { minLength: 2, maxLength: 8 }), (before, now, uids) => {
        const old = uids.slice(1).flatMap((uid) => freeRange(before, uid, []) ?? []);
        const range = freeRange(now, uids[0] ?? '', old);
        expect(range === undefined || old.every((other) => disjoint(other, range))).toBe(true);
      }),
    );
  });

  test('is the same for the same pod while no other pod uses it', () => {
    fc.assert(
      fc.property(fc.uuid(), (uid) => {
        expect(freeRange(wholePool(ID_UNIT), uid, [])).toEqual(freeRange(wholePool(ID_UNIT), uid, []));
      }),
    );
    const uids = fc.sample(fc.uuid(), 100);
    const ranges = uids.map((uid) => freeRange(wholePool(ID_UNIT), uid, [])?.hostId);
    expect(new Set(ranges).size).toBeGreaterThan(90);
  });

  test('does not contain the id that means "no id"', () => {
    const last = { first: 2 ** 32 - 2 * ID_UNIT, count: 2 * ID_UNIT, idsPerPod: ID_UNIT };
    expect(freeRange(last, 'a', [])).toEqual({ hostId: last.first, length: ID_UNIT });
    expect(freeRange(last, 'a', [{ hostId: last.first, length: ID_UNIT }])).toBeUndefined();
  });
});
