import { expect, test } from '@jest/globals';
import { highestVersion } from '../../src/csi/version.ts';

test.each([
  [['1.0.0'], [1, 0, 0]],
  [
    ['1.2.0', '1.10.1', '1.9.9'],
    [1, 10, 1],
  ],
  [
    ['v1.3', '2.0.0'],
    [1, 3, 0],
  ],
  [
    ['0.3.0', '1.0.0'],
    [1, 0, 0],
  ],
  [['0.3.0'], [0, 3, 0]],
  [['2.0.0', 'one', ''], undefined],
  [[], undefined],
])('of versions %j the highest is %j', (versions, highest) => {
  expect(highestVersion(versions)).toEqual(highest);
});
