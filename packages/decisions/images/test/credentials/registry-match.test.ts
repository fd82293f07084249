import { expect, test } from '@jest/globals';
import { matchesRepository } from '../../src/index.ts';

test.each([
  ['r.io', 'r.io/a/b', true],
  ['r.io/a', 'r.io/a/b', true],
  ['r.io/a', 'r.io/ab', true],
  ['r.io/a/b', 'r.io/a', false],
  ['r.io', 'r.io:5000/a', false],
  ['r.io:5000', 'r.io:5000/a', true],
  ['r.io:5000', 'r.io:5001/a', false],
  ['*.r.io', 'eu.r.io/a', true],
  ['*.r.io', 'r.io/a', false],
  ['*.r.io', 'a.eu.r.io/a', false],
  ['*.*.r.io', 'a.eu.r.io/a', true],
  ['pre*.r.io/x', 'prefix.r.io/x/y', true],
  ['r?.io', 'r1.io/a', true],
  ['r[0-4].io', 'r3.io/a', true],
  ['r[^0-4].io', 'r3.io/a', false],
  ['r[.io', 'r[.io/a', true],
  ['r+.io', 'rr.io/a', false],
  ['[::1]:5000', '[::1]:5000/a', true],
  ['127.0.0.1:5000/a', '127.0.0.1:5000/a', true],
])('the pattern %s matches the repository %s: %s', (pattern, repository, matches) => {
  expect(matchesRepository(pattern, repository)).toBe(matches);
});
