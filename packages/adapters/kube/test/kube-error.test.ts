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
])('a response of status %p is an outage: %p', (status, expected) => {
  expect(isOutage(new KubeError(status === undefined ? 'Unreachable' : 'Rejected', 'no', { status }))).toBe(expected);
});

test('any other failure is not an outage of the API server', () => {
  expect(isOutage(new Error('no'))).toBe(false);
});
