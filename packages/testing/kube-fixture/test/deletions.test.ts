import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asText, type JsonObject } from '@kubus/kube-objects';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
  await judged.pod('kept');
});
afterAll(() => judged.close());

const inOptions: JsonObject = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'], gracePeriodSeconds: 0 };

test('a dry run that the options of a deletion ask for deletes nothing', async () => {
  const before = await judged.cluster.get(judged.named('kept'));
  expect((await judged.send('DELETE', 'pods/kept', inOptions)).code).toBe(200);
  expect((await judged.send('DELETE', 'pods', inOptions)).code).toBe(200);
  expect(await judged.cluster.get(judged.named('kept'))).toEqual(before);
});

test('nor does that of an eviction', async () => {
  const before = await judged.cluster.get(judged.named('kept'));
  const metadata = { name: 'kept', namespace: judged.namespace };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions: inOptions };
  expect((await judged.send('POST', 'pods/kept/eviction', eviction)).code).toBe(201);
  expect(await judged.cluster.get(judged.named('kept'))).toEqual(before);
});

test('nor does a dry run of a binding bind', async () => {
  await judged.pod('unbound', { nodeName: '', schedulerName: 'none' });
  const body = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'unbound' },
    target: { kind: 'Node', name: 'n' },
  };
  const path = judged.path('pods/unbound/binding');
  expect((await judged.cluster.raw('POST', path, { body, query: { dryRun: 'All' } })).code).toBe(201);
  expect(asText((await judged.cluster.get(judged.named('unbound')))?.spec?.['nodeName'])).toBe('');
});

test.each(['default', 'kube-system', 'kube-public'])('the namespace %s may not be deleted', async (name) => {
  const answer = await judged.cluster.raw('DELETE', `/api/v1/namespaces/${name}`, { body: inOptions });
  expect(answer).toMatchObject(
    refused(403, 'Forbidden', new RegExp(`^namespaces "${name}" is forbidden: this namespace may not be deleted$`)),
  );
});

test('namespaces are not deleted as a collection', async () => {
  expect((await judged.cluster.raw('DELETE', '/api/v1/namespaces', { body: inOptions })).code).toBe(405);
});
