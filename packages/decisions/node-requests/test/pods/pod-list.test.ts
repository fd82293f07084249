import { expect, test } from '@jest/globals';
import { type RuntimeContainer, type RuntimePod, podSchema } from '@kubus/contracts';
import { podList, runningPodList } from '../../src/index.ts';

const pod = podSchema.parse({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u', annotations: { 'kubernetes.io/config.source': 'api' } },
  spec: { containers: [{ name: 'c' }] },
  status: { phase: 'Pending' },
});

test('podList contains pods with their current status, or with that of their source', () => {
  const item = { metadata: pod.metadata, spec: pod.spec };
  expect(
    podList([
      { pod, status: { phase: 'Running' } },
      { pod, status: undefined },
    ]),
  ).toEqual({
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: {},
    items: [
      { ...item, status: { phase: 'Running' } },
      { ...item, status: { phase: 'Pending' } },
    ],
  });
  expect(podList([])).toEqual({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] });
});

test('runningPodList contains running containers with their images', () => {
  const container = (name: string, state: RuntimeContainer['state']): RuntimeContainer => ({
    ...{ id: name, name, attempt: 0, sandboxId: 's', state, createdAt: '1', startedAt: '1', finishedAt: '0' },
    ...{ exitCode: 0, reason: '', message: '', image: 'busybox', imageRef: 'ref', imageId: 'sha256:abc' },
    ...{ logPath: '', annotations: {} },
  });
  const running = (name: string, ready: boolean, containers: RuntimeContainer[]): RuntimePod => ({
    ref: { namespace: 'default', name, uid: name },
    stamp: { epoch: 1, counter: 1 },
    sandboxes: [{ id: 's', attempt: 0, ready, createdAt: '1', ips: [], runtimeHandler: '' }],
    containers,
  });
  expect(
    runningPodList([
      running('web', true, [container('a', 'running'), container('b', 'exited')]),
      running('starts', true, []),
      running('over', false, [container('a', 'exited')]),
    ]),
  ).toEqual({
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: {},
    items: [
      {
        metadata: { name: 'web', namespace: 'default', uid: 'web' },
        spec: { containers: [{ name: 'a', image: 'sha256:abc', resources: {} }] },
        status: {},
      },
      { metadata: { name: 'starts', namespace: 'default', uid: 'starts' }, spec: { containers: [] }, status: {} },
    ],
  });
});
