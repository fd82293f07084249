import { expect, test } from '@jest/globals';
import { below, holds, placesOf, top } from './json-search.ts';

const payload = {
  ref: { name: 'Web-1' },
  status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'Web' }] },
};

test('a found text has all its parents unfolded', () => {
  const { open, found } = placesOf(payload, 'web');
  const conditions = below(below(top, 'status'), 'conditions');
  expect(found).toBe(2);
  expect(open).toEqual(new Set([top, below(top, 'ref'), below(top, 'status'), conditions, below(conditions, '1')]));
});

test('keys are found too; an empty search finds nothing', () => {
  expect(placesOf(payload, 'condit').found).toBe(1);
  expect(placesOf(payload, '').found).toBe(0);
  expect(placesOf(payload, 'absent').open.size).toBe(0);
});

test('values other than strings are found by their JSON text', () => {
  expect(holds(12.5, '2.5')).toBe(true);
  expect(holds(true, 'TRUE')).toBe(true);
  expect(holds(null, 'null')).toBe(true);
  expect(holds('x', '')).toBe(false);
});
