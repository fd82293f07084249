import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ADMIN, Cluster, TestApiServer } from '@kubus/kube-fixture';
import { ClusterPods } from './cluster-pods.ts';

const pod = { kind: 'Pod', name: 'a' };

let server: TestApiServer;
let pods: ClusterPods;
beforeEach(async () => {
  server = await TestApiServer.start();
  pods = await ClusterPods.of(Cluster.open(await server.kubeconfig(ADMIN, 'token')), 'n');
});
afterEach(async () => {
  pods.close();
  await server.close();
});

/** Ends the watch; `meanwhile` happens while the API server refuses another one. */
async function withoutWatch(how: 'end' | 'expire', meanwhile: () => void): Promise<void> {
  const fault = { kind: 'answer', code: 503 } as const;
  const refused = server.inject({ when: ({ verb }) => verb === 'watch', fault });
  server.watches[0]?.[how]();
  await server.waitForRequest(({ verb, status }) => verb === 'watch' && status === 503);
  meanwhile();
  refused.remove();
}

function becomeReady(): void {
  const conditions = [{ type: 'Ready', status: 'True' }];
  server.patch(pod, { status: { conditions } }, { subresource: 'status' });
}

test('a pod that became Ready without a watch is found', async () => {
  const created = pods.plain.create('a');
  await server.waitFor(pod, () => true);
  await withoutWatch('end', becomeReady);
  expect(await created).toBeGreaterThan(0);
});

test('a pod that was removed without a watch is found', async () => {
  const created = pods.plain.create('a');
  await server.waitFor(pod, () => true);
  becomeReady();
  await created;
  const removed = pods.plain.remove('a');
  await server.waitFor(pod, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await withoutWatch('expire', () => server.delete(pod, { graceSeconds: 0 }));
  expect(await removed).toBeGreaterThan(0);
});
