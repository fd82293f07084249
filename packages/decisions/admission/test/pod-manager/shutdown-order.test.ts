import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import { ShutdownOrder, shutdownGrace, shutdownGroups } from '../../src/index.ts';

function podOf(uid: string, priority?: number, terminationGracePeriodSeconds?: number): Pod {
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: [], ...(priority !== undefined && { priority }), terminationGracePeriodSeconds },
  };
}

const uids = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.uid);
const shape = (groups: readonly { readonly priority: number; readonly pods: readonly Pod[] }[]) =>
  groups.map(({ priority, pods }) => [priority, uids(pods)]);

const periods = fc.uniqueArray(fc.record({ priority: fc.integer({ min: -9, max: 9 }), seconds: fc.nat(9) }), {
  minLength: 1,
  maxLength: 5,
  selector: ({ priority }) => priority,
});
const pods = fc
  .array(fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined }), { maxLength: 12 })
  .map((all) => all.map((priority, index) => podOf(`p${index}`, priority)));

describe('the groups of pods that end together', () => {
  test('are those of the reference’s example (KEP-2712)', () => {
    const example = [100_000, 10_000, 1_000, 0].map((priority) => ({ priority, seconds: 10 }));
    const named = {
      low: -5,
      none: undefined,
      small: 999,
      exact: 1_000,
      more: 1_001,
      most: 100_000,
      huge: 2_000_001_000,
    };
    const all = Object.entries(named).map(([uid, priority]) => podOf(uid, priority));
    expect(shape(shutdownGroups(example, all))).toEqual([
      [0, ['low', 'none', 'small']],
      [1_000, ['exact', 'more']],
      [100_000, ['most', 'huge']],
    ]);
  });

  test('have every pod once, lowest priority first, each at the greatest period that is not above it', () => {
    fc.assert(
      fc.property(periods, pods, (given, all) => {
        const groups = shutdownGroups(given, all);
        expect(groups.flatMap((group) => uids(group.pods)).sort()).toEqual(uids(all).sort());
        const order = groups.map(({ priority }) => priority);
        expect(order).toEqual([...order].sort((a, b) => a - b));
        const least = Math.min(...given.map(({ priority }) => priority));
        for (const group of groups) {
          for (const { spec } of group.pods) {
            const own = spec.priority ?? 0;
            const below = given.map(({ priority }) => priority).filter((priority) => priority <= own);
            expect(group.priority).toBe(below.length === 0 ? least : Math.max(...below));
          }
        }
      }),
    );
  });
});

describe('the turns of the groups', () => {
  const two = [
    { priority: 0, seconds: 20 },
    { priority: 10, seconds: 5 },
  ];
  const all = [podOf('a'), podOf('b', 10)];

  test('begin when the one before has ended, or its time is over', () => {
    const early = new ShutdownOrder(two, all, 1_000);
    expect(early.step(1_000, () => false)).toMatchObject({ begun: [{ priority: 0 }], until: 21_000 });
    expect(early.step(3_000, (uid) => uid === 'a')).toMatchObject({ begun: [{ priority: 10 }], until: 8_000 });
    expect(early.step(4_000, () => true)).toEqual({ begun: [], until: undefined });

    const late = new ShutdownOrder(two, all, 1_000);
    late.step(1_000, () => false);
    expect(late.step(20_999, () => false)).toMatchObject({ begun: [], until: 21_000 });
    expect(late.step(21_000, () => false)).toMatchObject({ begun: [{ priority: 10 }], until: 26_000 });
    expect(late.step(26_000, () => false)).toEqual({ begun: [], until: undefined });
  });

  test('go on where they were for a restarted service', () => {
    const order = new ShutdownOrder(two, all, 0);
    expect(shape(order.step(22_000, () => false).begun)).toEqual([
      [0, ['a']],
      [10, ['b']],
    ]);
  });

  test('of no pods are over at once', () => {
    expect(new ShutdownOrder(two, [], 0).step(0, () => false)).toEqual({ begun: [], until: undefined });
  });

  test('begin each group once, in order, and take no longer than all periods together', () => {
    fc.assert(
      fc.property(periods, pods, fc.array(fc.tuple(fc.nat(4_000), fc.nat(11))), (given, members, events) => {
        const order = new ShutdownOrder(given, members, 0);
        const total = given.reduce((sum, { seconds }) => sum + seconds * 1000, 0);
        const ended = new Set<string>();
        const begun: (readonly [number, readonly string[]])[] = [];
        let now = 0;
        const step = () => {
          const done = order.step(now, (uid) => ended.has(uid));
          for (const group of done.begun) begun.push([group.priority, uids(group.pods)]);
          expect(done.until ?? total).toBeLessThanOrEqual(total);
          if (done.until !== undefined) expect(done.until).toBeGreaterThan(now);
          return done.until;
        };
        step();
        for (const [wait, which] of events) {
          now += wait;
          ended.add(`p${which}`);
          step();
        }
        now = Math.max(now, total);
        expect(step()).toBeUndefined();
        expect(begun).toEqual(shape(shutdownGroups(given, members)));
      }),
    );
  });
});

test.each([
  [30, 20, 20],
  [10, 20, 10],
  [undefined, 20, 20],
])('a pod of %p seconds in a group of %d gets %d', (own, seconds, expected) => {
  expect(shutdownGrace(podOf('a', 0, own), { seconds })).toBe(expected);
});
