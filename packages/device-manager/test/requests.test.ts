import { expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import { deviceRequests, nextReusable } from '../src/index.ts';

const container = (name: string, limits: Record<string, string>, more: object = {}) => ({
  name,
  image: 'image',
  resources: { limits },
  ...more,
});

test('what containers ask for, in the order of their starts', () => {
  const { spec } = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
    spec: {
      initContainers: [
        container('first', { 'example.com/a': '2' }),
        container('sidecar', { 'example.com/a': '1' }, { restartPolicy: 'Always' }),
      ],
      containers: [
        container('main', { cpu: '1', 'example.com/a': '1', 'example.com/b': '1k', 'kubernetes.io/c': '1' }),
        container('plain', { memory: '1Gi', 'example.com/none': '0' }),
      ],
    },
  });
  expect(deviceRequests({ spec })).toEqual([
    { name: 'first', ends: true, counts: { 'example.com/a': 2 } },
    { name: 'sidecar', ends: false, counts: { 'example.com/a': 1 } },
    { name: 'main', ends: false, counts: { 'example.com/a': 1, 'example.com/b': 1000 } },
  ]);
});

test('what an init container has had the next ones may get, unless one before them keeps it', () => {
  const afterInit = nextReusable([], { ends: true }, ['a', 'b']);
  expect(afterInit).toEqual(['a', 'b']);
  expect(nextReusable(afterInit, { ends: true }, ['b', 'c'])).toEqual(['a', 'b', 'c']);
  expect(nextReusable(afterInit, { ends: false }, ['b'])).toEqual(['a']);
});
