import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

describe('the deletion of a pod', () => {
  test.each<[string, JsonObject, number]>([
    ['its own', {}, 30],
    ['less', { gracePeriodSeconds: 5 }, 5],
    ['more', { gracePeriodSeconds: 100 }, 100],
    ['negative', { gracePeriodSeconds: -1 }, 1],
  ])('has a grace period: %s', async (what, options, seconds) => {
    const name = `grace-${what.replace(' ', '-')}`;
    await judged.pod(name);
    const { body } = await judged.send('DELETE', `pods/${name}`, options);
    const { metadata } = body as unknown as KubeObject;
    expect(metadata.deletionGracePeriodSeconds).toBe(seconds);
    expect(metadata.generation).toBe(2);
    const end = Date.parse(metadata.deletionTimestamp ?? '') - Date.parse(metadata.creationTimestamp);
    expect(end).toBeGreaterThanOrEqual(seconds * 1000);
    const { body: gone } = await judged.send('DELETE', `pods/${name}`, { gracePeriodSeconds: 0 });
    expect(gone).toMatchObject({ kind: 'Pod', metadata: { deletionGracePeriodSeconds: 0 } });
    expect(await judged.cluster.get(judged.named(name))).toBeUndefined();
  });

  test('can have its grace period shortened, never extended', async () => {
    await judged.pod('shorter');
    const grace = async (gracePeriodSeconds?: number) => {
      const { body } = await judged.send('DELETE', 'pods/shorter', {
        ...(gracePeriodSeconds && { gracePeriodSeconds }),
      });
      const { metadata } = body as unknown as KubeObject;
      return { seconds: metadata.deletionGracePeriodSeconds, end: metadata.deletionTimestamp, metadata };
    };
    const first = await grace(100);
    const longer = await grace(200);
    const default_ = await grace();
    expect([longer, default_]).toMatchObject([
      { seconds: 100, end: first.end },
      { seconds: 100, end: first.end },
    ]);
    const shorter = await grace(50);
    expect(shorter.seconds).toBe(50);
    expect(Date.parse(first.end ?? '') - Date.parse(shorter.end ?? '')).toBe(50_000);
    expect(shorter.metadata.generation).toBe(2);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['without a node', { nodeName: '' }, {}],
    ['succeeded', {}, { phase: 'Succeeded' }],
    ['failed', {}, { phase: 'Failed' }],
    ['without grace', { terminationGracePeriodSeconds: 0 }, {}],
  ])('is immediate: %s', async (what, spec, given) => {
    const name = `at-once-${what.replaceAll(' ', '-')}`;
    await judged.pod(name, spec);
    await judged.status(name, { status: given });
    const { code, body } = await judged.send('DELETE', `pods/${name}`);
    expect({ code, kind: body['kind'] }).toEqual({ code: 200, kind: 'Pod' });
    expect(await judged.cluster.get(judged.named(name))).toBeUndefined();
  });

  test('waits for finalizers after its grace period', async () => {
    await judged.pod('finalized', {}, { finalizers: ['example.test/a'] });
    await judged.send('DELETE', 'pods/finalized');
    await judged.send('DELETE', 'pods/finalized', { gracePeriodSeconds: 0 });
    const waiting = await judged.cluster.get(judged.named('finalized'));
    expect(waiting?.metadata.deletionGracePeriodSeconds).toBe(0);
    const changed = await judged.status('finalized', { status: { phase: 'Succeeded' } });
    expect(changed.metadata.deletionTimestamp).toBe(waiting?.metadata.deletionTimestamp);
    await judged.cluster.patch(judged.named('finalized'), { metadata: { finalizers: null } });
    expect(await judged.cluster.get(judged.named('finalized'))).toBeUndefined();
  });

  test('is reported by a watch as changes, then as a deletion', async () => {
    const { metadata } = await judged.pod('watched');
    const watch = await judged.cluster.watch(judged.path('pods'), {
      resourceVersion: metadata.resourceVersion,
      fieldSelector: 'metadata.name=watched',
    });
    await judged.send('DELETE', 'pods/watched');
    expect(await watch.next()).toMatchObject({
      type: 'MODIFIED',
      object: { metadata: { deletionGracePeriodSeconds: 30, generation: 2 } },
    });
    await judged.send('DELETE', 'pods/watched', { gracePeriodSeconds: 0 });
    const metadataNow = { deletionGracePeriodSeconds: 0, generation: 2 };
    expect(await watch.next()).toMatchObject({ type: 'MODIFIED', object: { metadata: metadataNow } });
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: metadataNow } });
    watch.close();
  });

  test('can be requested by an eviction', async () => {
    await judged.pod('evicted');
    const answer = await judged.send('POST', 'pods/evicted/eviction', {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'evicted', namespace: judged.namespace },
    });
    expect(answer).toMatchObject({ code: 201, body: { kind: 'Status', status: 'Success' } });
    const pod = await judged.cluster.get(judged.named('evicted'));
    expect(pod?.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(pod?.status?.['conditions']).toMatchObject([
      { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
    ]);
  });

  test('with the UID of another pod is refused', async () => {
    await judged.pod('precondition');
    const answer = await judged.send('DELETE', 'pods/precondition', {
      gracePeriodSeconds: 0,
      preconditions: { uid: '00000000-0000-0000-0000-000000000000' },
    });
    expect(answer).toMatchObject(refused(409, 'Conflict', /the UID in the precondition \(0{8}-.*\) does not match/));
  });
});
