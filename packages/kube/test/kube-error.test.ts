import { expect, test } from '@jest/globals';
import { KubeError, isOutage } from '../src/index.ts';

test.each([
  [undefined, true],
  [400, false],
  [401, true],
  [403, false],
  [404, false],
  [408, true],
  [409, false],
  [410, false],
  [422, false],
  [429, true],
  [500, true],
  [503, true],
])('an answer of status %p says nothing about what was asked: %p', (status, expected) => {
  expect(isOutage(new KubeError(status === undefined ? 'Unreachable' : 'Rejected', 'no', { status }))).toBe(expected);
});

test('any other failure is no outage of the API server', () => {
  expect(isOutage(new Error('no'))).toBe(false);
});
