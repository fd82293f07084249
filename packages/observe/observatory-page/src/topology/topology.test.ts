import { expect, test } from '@jest/globals';
import type { CpuOwner } from '@kubus/contracts/observatory';
import fc from 'fast-check';
import { changesAround, cpuMarks, ownerMarks } from './cpu-marks.ts';

const row = (kind: CpuOwner['kind'], ids: readonly number[], who: string): CpuOwner => ({
  ...{ kind, ids, who, cpus: ids.join(','), nodes: '0' },
});

test('each CPU has the mark and the words of its owner', () => {
  const of = cpuMarks([
    row('reserved', [0], 'reserved'),
    row('shared', [1], 'shared by all'),
    row('own', [2, 3], 'default/web init'),
    row('own', [3], 'default/web main'),
    row('isolated', [4], 'isolated'),
  ]);
  expect([0, 1, 2, 3, 4, 5].map((id) => of(id).mark)).toEqual(['r', '·', 'A', 'B', 'i', '']);
  expect([2, 3].map((id) => of(id).words)).toEqual(['default/web init', 'default/web init; default/web main']);
});

test('no two containers have the same mark', () => {
  const many = Array.from({ length: 80 }, (_, id) => row('own', [id], `pod-${id} main`));
  const marks = ownerMarks(many).map(({ mark }) => mark);
  expect(marks.slice(25, 28)).toEqual(['Z', 'A1', 'B1']);
  expect(new Set(marks).size).toBe(80);
});

test.each([
  [[], undefined, undefined, undefined],
  [[1, 5, 9], undefined, 5, undefined],
  [[1, 5, 9], 9, 5, undefined],
  [[1, 5, 9], 7, 1, 9],
  [[1, 5, 9], 5, 1, 9],
  [[1, 5, 9], 0, undefined, 1],
])('of the changes at %j, those around %s are %s and %s', (moments, at, earlier, later) => {
  expect(changesAround(moments, at)).toEqual({ earlier, later });
});

test('stepping back reaches each change once', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(1000), { maxLength: 20 }), (some) => {
      const moments = some.toSorted((a, b) => a - b);
      const seen: number[] = [];
      let { earlier } = changesAround(moments, undefined);
      while (earlier !== undefined) {
        seen.unshift(earlier);
        ({ earlier } = changesAround(moments, earlier));
      }
      expect(seen).toEqual(moments.slice(0, -1));
    }),
  );
});
