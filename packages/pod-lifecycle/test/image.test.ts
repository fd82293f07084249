import { expect, test } from '@jest/globals';
import { imageDecision, imageToPull } from '../src/index.ts';

test.each([
  ['Always', true, 'pull'],
  ['Always', false, 'pull'],
  ['IfNotPresent', true, 'use'],
  ['IfNotPresent', false, 'pull'],
  ['Never', true, 'use'],
  ['Never', false, 'fail'],
])('policy %s, present %s: %s', (imagePullPolicy, present, kind) => {
  expect(imageDecision({ name: 'c', image: 'busybox', imagePullPolicy }, present).kind).toBe(kind);
});

test('an image that must not be pulled and is not there has the reference’s reason and text', () => {
  expect(imageDecision({ name: 'c', image: 'a/b:1', imagePullPolicy: 'Never' }, false)).toEqual({
    kind: 'fail',
    reason: 'ErrImageNeverPull',
    message: 'Container image "a/b:1" is not present with pull policy of Never',
  });
});

test('a name that is none fails, whatever the policy', () => {
  expect(imageDecision({ name: 'c', image: 'Not An Image' }, false)).toMatchObject({ reason: 'InvalidImageName' });
});

test.each([
  ['busybox', 'busybox:latest'],
  ['busybox:1.35', 'busybox:1.35'],
  ['localhost:5000/a', 'localhost:5000/a:latest'],
  [`a@sha256:${'0'.repeat(64)}`, `a@sha256:${'0'.repeat(64)}`],
])('%s is asked for as %s', (image, asked) => expect(imageToPull(image)).toBe(asked));
