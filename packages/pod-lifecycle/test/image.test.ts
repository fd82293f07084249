import { expect, test } from '@jest/globals';
import { imageDecision, imageToPull, needsLook } from '../src/index.ts';

test.each([
  ['Always', true, 'pull'],
  ['Always', false, 'pull'],
  ['IfNotPresent', true, 'use'],
  ['IfNotPresent', false, 'pull'],
  ['Never', true, 'use'],
  ['Never', false, 'fail'],
])('policy %s, present %s: %s', (policy, present, kind) => {
  expect(imageDecision({ name: 'busybox', policy }, present).kind).toBe(kind);
});

test('an image that must not be pulled and is not there has the reference’s reason and text', () => {
  expect(imageDecision({ name: 'a/b:1', policy: 'Never' }, false)).toEqual({
    kind: 'fail',
    reason: 'ErrImageNeverPull',
    message: 'Container image "a/b:1" is not present with pull policy of Never',
  });
});

test('a name that is none fails, whatever the policy', () => {
  const name = 'Not A Valid//Name';
  const text =
    'Failed to apply default image tag "Not A Valid//Name": couldn\'t parse image name "Not A Valid//Name": ' +
    'invalid reference format: repository name (/Name) must be lowercase';
  for (const policy of ['Always', 'IfNotPresent', 'Never']) {
    const decision = imageDecision({ name, policy }, false);
    expect(decision).toEqual({ kind: 'fail', reason: 'InvalidImageName', message: text });
    expect(needsLook({ name, policy })).toBe(false);
  }
});

test.each([
  ['busybox', 'busybox:latest'],
  ['busybox:1.35', 'busybox:1.35'],
  ['localhost:5000/a', 'localhost:5000/a:latest'],
  [`a@sha256:${'0'.repeat(64)}`, `a@sha256:${'0'.repeat(64)}`],
])('%s is asked for as %s', (image, asked) => expect(imageToPull(image)).toBe(asked));
