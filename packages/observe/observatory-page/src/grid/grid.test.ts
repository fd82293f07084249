import { expect, test } from '@jest/globals';
import { compareValues, formatSort, nextSort, parseSort, rowAfterKey } from './sorting.ts';
import { narrowestOf } from './tracks.ts';

test('values are sorted in natural order, and missing ones come last in both directions', () => {
  const sorted = (values: (string | number | undefined)[], descending: boolean): unknown[] =>
    values.toSorted((a, b) => compareValues(a, b, descending));
  expect(sorted([3, undefined, 20, 1], false)).toEqual([1, 3, 20, undefined]);
  expect(sorted([3, undefined, 20, 1], true)).toEqual([20, 3, 1, undefined]);
  expect(sorted(['pod-10', 'pod-9', 'pod-1'], false)).toEqual(['pod-1', 'pod-9', 'pod-10']);
});

test('choosing a column again reverses its order', () => {
  const first = nextSort(undefined, 'a', true);
  expect(first).toEqual({ column: 'a', descending: true });
  expect(nextSort(first, 'a', true)).toEqual({ column: 'a', descending: false });
  expect(nextSort(first, 'b', false)).toEqual({ column: 'b', descending: false });
});

test.each([
  ['ArrowDown', 4, 5],
  ['ArrowDown', 99, 99],
  ['ArrowUp', 0, 0],
  ['PageDown', 4, 14],
  ['PageUp', 4, 0],
  ['End', 4, 99],
  ['Home', 4, 0],
  ['x', 4, undefined],
])('%s moves from row %d of 100 to %p', (key, from, to) => {
  expect(rowAfterKey(key, from, 100, 10)).toBe(to);
});

test('no key moves in an empty list', () => {
  expect(rowAfterKey('End', 0, 0, 10)).toBeUndefined();
});

test('the minimum width of a list is the sum of its columns', () => {
  expect(narrowestOf(['84px', 'minmax(150px, 2fr)', '1fr'])).toBe(234);
});

test.each([
  ['start', { column: 'start', descending: false }],
  ['-start', { column: 'start', descending: true }],
  ['-other', undefined],
  ['', undefined],
  [undefined, undefined],
])('an address with the sort %p has %j', (text, sort) => {
  const columns = [{ id: 'start' }, { id: 'name' }];
  expect(parseSort(text, columns)).toEqual(sort);
  if (sort !== undefined) expect(formatSort(sort)).toBe(text);
});
