import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { JudgedCluster } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

// The client for Python writes True, others write nothing.
test.each([
  ['True', true],
  ['1', true],
  ['', true],
  ['False', false],
  ['0', false],
])('watch=%s watches: %p', async (watch, watches) => {
  const query = { watch, timeoutSeconds: '1', fieldSelector: 'metadata.name=none' };
  const headers = { accept: 'application/vnd.kubernetes.protobuf' };
  const answer = await judged.cluster.raw('GET', judged.path('configmaps'), { query, headers });
  expect(answer.headers['content-type']?.includes('stream=watch')).toBe(watches);
});
