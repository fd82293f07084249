import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json, KubeObject } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

describe('a status update', () => {
  const conditionsOf = (pod: KubeObject | undefined) =>
    (pod?.status?.['conditions'] as { type: string; status: string }[] | undefined)?.map(
      (one) => `${one.type}=${one.status}`,
    );

  test('merges conditions by their type, and replaces container statuses', async () => {
    await judged.pod('status');
    const containerStatus = (name: string) => ({
      name,
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: 'ContainerCreating' } },
    });
    await judged.status('status', {
      status: {
        conditions: [
          { type: 'Ready', status: 'False' },
          { type: 'PodScheduled', status: 'True' },
          { type: 'example.test/gate', status: 'True' },
        ],
        containerStatuses: [containerStatus('c')],
        podIPs: [{ ip: '10.0.0.1' }],
        podIP: '10.0.0.1',
      },
    });
    const pod = await judged.status('status', {
      status: {
        '$setElementOrder/conditions': [{ type: 'Initialized' }, { type: 'Ready' }, { type: 'PodScheduled' }],
        conditions: [
          { type: 'Initialized', status: 'True' },
          { type: 'Ready', status: 'True' },
        ],
        containerStatuses: [{ ...containerStatus('c'), ready: true }],
        '$setElementOrder/podIPs': [{ ip: '10.0.0.2' }],
        podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.1' }],
        podIP: '10.0.0.2',
      },
    });
    expect(conditionsOf(pod)).toEqual([
      'Initialized=True',
      'Ready=True',
      'PodScheduled=True',
      'example.test/gate=True',
    ]);
    expect(pod.status).toMatchObject({
      qosClass: 'BestEffort',
      podIPs: [{ ip: '10.0.0.2' }],
      containerStatuses: [{ ready: true }],
    });
    expect(pod.metadata.generation).toBe(1);
  });

  test('changes only the status and labels', async () => {
    const { namespace } = judged;
    const metadata = { name: 'owner', namespace };
    const { uid } = (await judged.cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })).metadata;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid };
    await judged.pod('narrow', {}, { ownerReferences: [owner] });
    const pod = await judged.status('narrow', {
      metadata: {
        labels: { by: 'status' },
        annotations: { by: 'status' },
        ownerReferences: null,
        finalizers: ['example.test/a'],
        deletionTimestamp: '2030-01-01T00:00:00Z',
      },
      spec: { nodeName: 'another', activeDeadlineSeconds: 3 },
      status: { message: 'm' },
    });
    expect(pod.spec).toMatchObject({ nodeName: judged.node });
    expect(pod.spec).not.toHaveProperty('activeDeadlineSeconds');
    expect(pod.status).toMatchObject({ phase: 'Pending', message: 'm' });
    const { labels, annotations, ownerReferences, finalizers, deletionTimestamp } = pod.metadata;
    expect({ labels, annotations, ownerReferences, finalizers, deletionTimestamp }).toEqual({
      labels: { by: 'status' },
      annotations: { by: 'status' },
      ownerReferences: [owner],
      finalizers: ['example.test/a'],
      deletionTimestamp: undefined,
    });
  });

  test('of a pod with another UID is refused', async () => {
    await judged.pod('other-uid');
    const body = { metadata: { uid: '00000000-0000-0000-0000-000000000000' }, status: { phase: 'Running' } };
    const answer = await judged.patch(judged.path('pods/other-uid/status'), 'strategic-merge', body);
    const message = /^Pod "other-uid" is invalid: metadata.uid: Invalid value: "0{8}-.*": field is immutable$/;
    expect(answer).toMatchObject(refused(422, 'Invalid', message));
    expect((await judged.cluster.get(judged.named('other-uid')))?.status?.['phase']).toBe('Pending');
  });

  test('of an older version conflicts', async () => {
    const { metadata } = await judged.pod('older');
    await judged.status('older', { status: { phase: 'Running' } });
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: { phase: 'Failed' } };
    const answer = await judged.patch(judged.path('pods/older/status'), 'strategic-merge', body);
    expect(answer).toMatchObject(refused(409, 'Conflict', /the object has been modified/));
  });

  test('without a change does not increment the version', async () => {
    await judged.pod('same');
    const first = await judged.status('same', { status: { phase: 'Running' } });
    const second = await judged.status('same', { status: { phase: 'Running' } });
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test('keeps an observed generation that the writer omits', async () => {
    await judged.pod('observed');
    const conditions = [{ type: 'Ready', status: 'False', observedGeneration: 1 }];
    await judged.status('observed', { status: { observedGeneration: 1, conditions } });
    const pod = await judged.status('observed', {
      status: { observedGeneration: null, conditions: [{ $patch: 'replace' }, { type: 'Ready', status: 'True' }] },
    });
    expect(pod.status).toMatchObject({
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }],
    });
  });

  test('of a missing pod is not found', async () => {
    const answer = await judged.patch(judged.path('pods/none/status'), 'strategic-merge', { status: {} });
    expect(answer).toMatchObject(refused(404, 'NotFound', /^pods "none" not found$/));
  });

  test.each<['merge' | 'json', Json]>([
    ['merge', { status: { message: 'patched' } }],
    ['json', [{ op: 'add', path: '/status/message', value: 'patched' }]],
  ])('can be sent as %s', async (kind, patch) => {
    await judged.pod(`as-${kind}`);
    const pod = await judged.cluster.patch(judged.named(`as-${kind}`), patch, { kind, subresource: 'status' });
    expect(pod.status?.['message']).toBe('patched');
  });
});
