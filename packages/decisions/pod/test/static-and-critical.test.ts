import { expect, test } from '@jest/globals';
import { CONFIG_MIRROR, CONFIG_SOURCE } from '@kubus/contracts';
import { isCritical, isMirror, isNodeCritical, isStatic, mirrorOf } from '../src/index.ts';

const pod = (annotations: Record<string, string>, spec: { priority?: number; priorityClassName?: string } = {}) => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u', annotations },
  spec: { containers: [], ...spec },
});

test.each([
  [pod({}), false],
  [pod({ [CONFIG_SOURCE]: 'api' }), false],
  [pod({ [CONFIG_SOURCE]: 'file' }), true],
  [pod({ [CONFIG_SOURCE]: 'http' }), true],
])('%j is static: %j', (one, expected) => expect(isStatic(one)).toBe(expected));

test('a mirror pod is recognized by its annotation', () => {
  expect([isMirror(pod({})), mirrorOf(pod({}))]).toEqual([false, undefined]);
  const mirror = pod({ [CONFIG_MIRROR]: 'uid of the static pod' });
  expect([isMirror(mirror), mirrorOf(mirror), isStatic(mirror)]).toEqual([true, 'uid of the static pod', false]);
});

test.each([
  [pod({}, { priority: 1_999_999_999 }), [false, false]],
  [pod({}, { priority: 2_000_000_000 }), [true, false]],
  [pod({ [CONFIG_SOURCE]: 'file' }), [true, false]],
  [pod({ [CONFIG_MIRROR]: 'hash' }), [true, false]],
  [pod({}, { priority: 2_000_001_000, priorityClassName: 'system-node-critical' }), [true, true]],
  [pod({}, { priorityClassName: 'system-node-critical' }), [false, false]],
])('%j is critical and node critical: %j', (one, expected) => {
  expect([isCritical(one), isNodeCritical(one)]).toEqual(expected);
});
