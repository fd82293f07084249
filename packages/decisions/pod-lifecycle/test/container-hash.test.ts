import { expect, test } from '@jest/globals';
import { containerHash } from '../src/index.ts';

test.each([
  // As recorded from a running reference kubelet v1.36.
  [{ name: 'c', image: 'docker.io/library/busybox:1.35' }, '78725ff3'],
])('the hash of %j equals the reference’s', (container, hash) => expect(containerHash(container)).toBe(hash));

test('the hash depends only on name and image', () => {
  const base = containerHash({ name: 'c', image: 'a' });
  expect(containerHash({ name: 'd', image: 'a' })).not.toBe(base);
  expect(containerHash({ name: 'c', image: 'b' })).not.toBe(base);
  expect(containerHash({ name: 'c', image: 'a', command: ['x'] } as { name: string })).toBe(base);
});
