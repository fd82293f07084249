import { expect, test } from '@jest/globals';
import { views } from '../route/route.ts';
import { places } from './places.ts';
import { shortcutOf } from './shortcuts.ts';

test('every view has a place, and each place a key of its own', () => {
  expect(places.map(({ view }) => view).sort()).toEqual(views.toSorted());
  expect(new Set(places.map(({ key }) => key)).size).toBe(places.length);
});

test.each(places.map(({ key, view }) => [key, view] as const))('g %s goes to %s', (key, view) => {
  expect(shortcutOf('g', false)).toEqual({ do: 'wait' });
  expect(shortcutOf(key, true)).toEqual({ do: 'go', view });
});

test('other keys mean nothing', () => {
  expect(shortcutOf('x', false)).toBeUndefined();
  expect(shortcutOf('x', true)).toBeUndefined();
});
