import { expect, test } from '@jest/globals';
import { views } from '../route/route.ts';
import { viewList } from './view-list.ts';
import { shortcutOf } from './shortcuts.ts';

test('every view is listed, each with a key of its own', () => {
  expect(viewList.map(({ view }) => view).sort()).toEqual(views.toSorted());
  expect(new Set(viewList.map(({ key }) => key)).size).toBe(viewList.length);
});

test.each(viewList.map(({ key, view }) => [key, view] as const))('g %s opens %s', (key, view) => {
  expect(shortcutOf('g', false)).toEqual({ do: 'wait' });
  expect(shortcutOf(key, true)).toEqual({ do: 'go', view });
});

test.each(['ArrowDown', 'j'])('%s goes to the list of the view', (key) => {
  expect(shortcutOf(key, false)).toEqual({ do: 'list' });
});

test('other keys have no effect', () => {
  expect(shortcutOf('x', false)).toBeUndefined();
  expect(shortcutOf('x', true)).toBeUndefined();
});
