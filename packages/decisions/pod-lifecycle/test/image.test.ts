import { expect, test } from '@jest/globals';
import { imageDecision, imageToPull, needsLook } from '../src/index.ts';

test.each([
  ['Always', true, 'pull'],
  ['Always', false, 'pull'],
  ['IfNotPresent', true, 'use'],
  ['IfNotPresent', false, 'pull'],
  ['Never', true, 'use'],
  ['Never', false, 'fail'],
])('with policy %s and present %s the decision is %s', (policy, present, kind) => {
  expect(imageDecision({ name: 'busybox', policy }, present).kind).toBe(kind);
});

test('a missing image that must not be pulled causes the reference’s reason and message', () => {
  expect(imageDecision({ name: 'a/b:1', policy: 'Never' }, false)).toEqual({
    kind: 'fail',
    reason: 'ErrImageNeverPull',
    message: 'Container image "a/b:1" is not present with pull policy of Never',
  });
});

test('an invalid name fails with every policy', () => {
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
])('the image %s is pulled as %s', (image, asked) => expect(imageToPull(image)).toBe(asked));
