import { expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import { deviceRequests, nextReusable, podCounts } from '../src/index.ts';

const container = (name: string, limits: Record<string, string>, more: object = {}) => ({
  name,
  image: 'image',
  resources: { limits },
  ...more,
});

test('deviceRequests lists the requests of containers in the order in which they start', () => {
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

test('an extended resource for which the scheduler has made a claim is asked of no device plugin', () => {
  const spec = {
    containers: [container('main', { 'example.com/a': '1' }), container('side', { 'example.com/a': '2' })],
  };
  const requestMappings = [{ containerName: 'main', resourceName: 'example.com/a', requestName: 'r' }];
  const status = { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings } };
  expect(deviceRequests({ spec, status })).toEqual([{ name: 'side', ends: false, counts: { 'example.com/a': 2 } }]);
});

test('later containers may get the devices of an init container, unless one before them keeps them', () => {
  const afterInit = nextReusable([], { ends: true }, ['a', 'b']);
  expect(afterInit).toEqual(['a', 'b']);
  expect(nextReusable(afterInit, { ends: true }, ['b', 'c'])).toEqual(['a', 'b', 'c']);
  expect(nextReusable(afterInit, { ends: false }, ['b'])).toEqual(['a']);
});

test('a pod needs what its containers use at the same time, and at least the needs of each init container together with earlier sidecars', () => {
  const asks = (ends: boolean, count: number) => ({ ends, counts: { a: count } });
  expect(podCounts([])).toEqual({});
  expect(podCounts([asks(false, 1), asks(false, 2)])).toEqual({ a: 3 });
  expect(podCounts([asks(true, 5), asks(true, 4), asks(false, 2)])).toEqual({ a: 5 });
  expect(podCounts([asks(false, 2), asks(true, 4), asks(false, 1)])).toEqual({ a: 6 });
  expect(podCounts([asks(true, 2), { ends: false, counts: { b: 1 } }])).toEqual({ a: 2, b: 1 });
});
