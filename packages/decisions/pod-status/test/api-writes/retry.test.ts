import { expect, test } from '@jest/globals';
import { compareVersions, failureScope, retryMs } from '../../src/index.ts';

test.each([
  [undefined, false, 'server'],
  [401, false, 'server'],
  [429, false, 'server'],
  [503, true, 'server'],
  [404, false, 'stale'],
  [404, true, 'object'],
  [409, true, 'stale'],
  [403, false, 'object'],
  [422, false, 'object'],
  [500, false, 'object'],
])('status %s of a write that creates an object (%s) has the failure scope %s', (status, creates, scope) => {
  expect(failureScope({ status }, creates)).toBe(scope);
});

test('retry delays grow up to a limit', () => {
  expect([1, 2, 3, 5, 9, 99].map((failures) => retryMs('server', failures, 0))).toEqual([
    1e3, 2e3, 4e3, 16e3, 30e3, 30e3,
  ]);
  expect([retryMs('object', 9, 0), retryMs('stale', 99, 0)]).toEqual([60e3, 300e3]);
  expect(retryMs('object', 1, 1)).toBe(1500);
});

test.each([
  ['9', '10', -1],
  ['10', '9', 1],
  ['10', '10', 0],
  [undefined, '1', -1],
  ['7', undefined, -1],
])('resource version %s is compared with %s', (a, b, expected) => {
  expect(compareVersions(a, b)).toBe(expected);
});
