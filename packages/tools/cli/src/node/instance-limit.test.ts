import { expect, test } from '@jest/globals';
import { checkInstances, instanceLimit } from './instance-limit.ts';

const GIB = 1024 ** 3;

test.each([
  [1, 8 * GIB, 4],
  [2, 8 * GIB, 4],
  [8, 64 * GIB, 16],
  [64, 1024 * GIB, 128],
  // Half of the memory, 48 MiB each.
  [8, 1 * GIB, 10],
  [2, 0.2 * GIB, 2],
  [2, 0, 1],
])('with %i cores and %i bytes of free memory a service has at most %i instances', (cores, freeBytes, limit) => {
  expect(instanceLimit({ cores, freeBytes })).toBe(limit);
});

test('more are refused, with the reason and what to do', () => {
  const room = { cores: 2, freeBytes: 8 * GIB };
  expect(() => checkInstances('prober', 4, 'or more with --force', room)).not.toThrow();
  expect(() => checkInstances('prober', 99, 'or more with --force', room)).toThrow(
    '99 instances of prober are too many for this machine (2 cores, 8.0 GiB of free memory): at most 4, or more with --force',
  );
});
