import { expect, test } from '@jest/globals';
import { sinceTime } from './since.ts';

test('the start time is a duration before now or a timestamp', () => {
  expect(sinceTime({}, 5_000)).toBeUndefined();
  expect(sinceTime({ since: 2_000_000_001n }, 5_000)).toBe('1970-01-01T00:00:02.999999999Z');
  expect(sinceTime({ since: 6_000_000_000n }, 5_000)).toBe('1970-01-01T00:00:00.000000000Z');
  expect(sinceTime({ sinceTime: '1970-01-01T00:00:01.5Z' }, 5_000)).toBe('1970-01-01T00:00:01.5Z');
});
