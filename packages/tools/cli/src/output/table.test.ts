import { formatAge } from '@kubus/pod';
import { describe, expect, test } from '@jest/globals';
import { formatTable } from './table.ts';

describe('a table', () => {
  test('pads each column to its widest cell without trailing blanks', () => {
    const rows = [
      ['a', '1/1', ''],
      ['long-name', '0/1', 'x'],
    ];
    expect(formatTable(['NAME', 'READY', 'WHY'], rows)).toBe(
      ['NAME        READY   WHY', 'a           1/1', 'long-name   0/1     x'].join('\n'),
    );
  });

  test('without rows consists of its header', () => {
    expect(formatTable(['A', 'B'], [])).toBe('A   B');
  });
});

const s = 1_000;
const m = 60 * s;
const h = 60 * m;
const d = 24 * h;
const y = 365 * d;

test.each([
  [-5 * s, '0s'],
  [0, '0s'],
  [999, '0s'],
  [119 * s, '119s'],
  [2 * m, '2m'],
  [2 * m + s, '2m1s'],
  [10 * m - 1, '9m59s'],
  [10 * m + 30 * s, '10m'],
  [3 * h - 1, '179m'],
  [3 * h, '3h'],
  [7 * h + 59 * m, '7h59m'],
  [8 * h + 59 * m, '8h'],
  [2 * d - 1, '47h'],
  [2 * d, '2d'],
  [7 * d + 5 * h, '7d5h'],
  [8 * d + 5 * h, '8d'],
  [2 * y - 1, '729d'],
  [2 * y, '2y'],
  [7 * y + 3 * d, '7y3d'],
  [8 * y + 3 * d, '8y'],
])('the age of %i ms is %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
