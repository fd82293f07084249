import { describe, expect, test } from '@jest/globals';
import { deletedPod, resizedPod, storedPod, withEphemeralContainer, withStatus } from '../src/api-pod.ts';

const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: t}
spec:
  containers:
  - {name: c, image: busybox:1, resources: {limits: {cpu: 250m}}}
`;
const now = Date.UTC(2030, 0, 1);
const stored = (text = manifest) =>
  storedPod(text, { namespace: 'ns', node: 'node0', uid: 'u1', createdAt: '2030-01-01T00:00:00Z' });

describe('a stored pod', () => {
  test('has its identity, its node and the API server’s defaults', () => {
    const { metadata, spec, status } = stored();
    expect(metadata).toMatchObject({ name: 't', namespace: 'ns', uid: 'u1', generation: 1 });
    expect(spec).toMatchObject({ nodeName: 'node0', priority: 0, restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
    expect(spec.containers[0]).toMatchObject({
      imagePullPolicy: 'IfNotPresent',
      resources: { requests: { cpu: '250m' } },
    });
    expect(spec.tolerations?.map(({ tolerationSeconds }) => tolerationSeconds)).toEqual([300, 300]);
    expect(status).toEqual({ phase: 'Pending', qosClass: 'Burstable' });
  });

  test.each([['no pod: ['], [`${manifest}---${manifest}`], ['']])('is made of one pod: %j', (text) => {
    expect(() => stored(text)).toThrow('one pod is needed');
  });
});

describe('a deleted pod', () => {
  test.each([
    [undefined, 30],
    [5, 5],
    [-1, undefined],
    [0, undefined],
  ])('with %j seconds of the user has %j', (asked, seconds) => {
    const deleted = deletedPod(stored(), asked, now);
    expect(deleted?.metadata.deletionGracePeriodSeconds).toBe(seconds);
    if (seconds !== undefined) {
      expect(deleted?.metadata.deletionTimestamp).toBe(
        new Date(now + seconds * 1000).toISOString().replace('.000', ''),
      );
      expect(deleted?.metadata.generation).toBe(2);
    }
  });

  test('gets no more time by a second request', () => {
    const first = deletedPod(stored(), 5, now);
    expect(first && deletedPod(first, 20, now)?.metadata.deletionGracePeriodSeconds).toBe(5);
    expect(first && deletedPod(first, 2, now)?.metadata.deletionGracePeriodSeconds).toBe(2);
  });

  test('without a grace period stays while a finalizer keeps it', () => {
    const pod = stored();
    const kept = { ...pod, metadata: { ...pod.metadata, finalizers: ['example.test/kept'] } };
    expect(deletedPod(kept, 0, now)?.metadata.deletionGracePeriodSeconds).toBe(0);
  });

  test.each(['Failed', 'Succeeded'])('that has run its course is gone at once: %s', (phase) => {
    expect(deletedPod(withStatus(stored(), { phase }), undefined, now)).toBeUndefined();
  });
});

test('changes of the spec are new generations, a status is not', () => {
  const pod = stored();
  const debugged = withEphemeralContainer(pod, { name: 'e', image: 'busybox' });
  expect(debugged.spec.ephemeralContainers?.[0]).toMatchObject({ name: 'e', imagePullPolicy: 'Always' });
  const resized = resizedPod(debugged, 'c', { limits: { cpu: '500m' }, requests: { cpu: '250m' } });
  expect(resized.spec.containers[0]?.resources?.limits).toEqual({ cpu: '500m' });
  expect(withStatus(resized, { phase: 'Running' }).metadata).toMatchObject({ generation: 3, resourceVersion: '4' });
});
