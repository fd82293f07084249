import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatRoute, parseRoute, views, withQuery } from './route.ts';

test('an address is parsed to the route it was made from', () => {
  const name = fc.string({ minLength: 1 });
  fc.assert(
    fc.property(
      name,
      fc.constantFrom(...views),
      fc.option(name, { nil: undefined }),
      fc.dictionary(name, name),
      (recording, view, pod, query) => {
        const route = { recording, view, query, ...(view === 'pods' && pod !== undefined && { pod }) };
        expect(parseRoute(formatRoute(route), 'home')).toEqual(route);
      },
    ),
  );
});

test.each([
  ['', { recording: 'home', view: 'overview', query: {} }],
  ['#/', { recording: 'home', view: 'overview', query: {} }],
  ['#/a/nonsense', { recording: 'a', view: 'overview', query: {} }],
  ['#/a/pods', { recording: 'a', view: 'pods', query: {} }],
  ['#/50%/map', { recording: '50%', view: 'map', query: {} }],
])('the address %p is parsed to %j', (hash, route) => {
  expect(parseRoute(hash, 'home')).toEqual(route);
});

test('cleared parameters are removed from the address', () => {
  const route = { recording: 'a', view: 'map' as const, query: { b: '1', c: '2' } };
  expect(withQuery(route, { b: undefined, c: '', d: '3' }).query).toEqual({ d: '3' });
});
