import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FactOwner } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type ClaimExpansion, claimExpansion } from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { type JsonObject, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { ClaimWriter } from '../src/index.ts';
import { fastClock } from './scripted-node.ts';

const CLAIM = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data' };
const KEY = 'default/data';
let server: TestApiServer;
let client: KubeClient;
let broker: LocalBroker;
let expansions: FactOwner<ClaimExpansion>;
let stop: (() => void)[];
let epoch = 0;

beforeEach(async () => {
  server = await TestApiServer.start({ nodeAuthorization: true });
  const kubeconfig = await server.kubeconfig(nodeUser('n1'));
  client = await KubeClient.open({ kubeconfig, userAgent: 'test', clock: systemClock, logger: silentLogger });
  broker = new LocalBroker('n1');
  expansions = broker.join('volume-manager', systemClock).bus.owner(claimExpansion);
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } };
  server.create({ apiVersion: 'v1', metadata: { name: 'data' }, ...CLAIM, spec });
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
  const pod = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes };
  server.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: pod });
  stop = [];
  run();
});

afterEach(async () => {
  for (const end of stop) end();
  await client.close();
  await server.close();
});

/** Starts the next process of the writer. */
function run(): void {
  for (const end of stop.splice(0)) end();
  const member = broker.join('status-manager', systemClock, ++epoch);
  const { bus } = member;
  const writer = new ClaimWriter({ bus, client, clock: fastClock, ids: systemIds, logger: silentLogger });
  stop.push(
    () => member.leave(),
    () => writer.stop(),
  );
}

const expansion = (capacity: string): ClaimExpansion => ({
  ...{ namespace: 'default', name: 'data', capacity },
  claimUid: server.get(CLAIM)?.metadata.uid ?? '',
});
const status = (patch: JsonObject) => server.patch(CLAIM, { status: patch }, { subresource: 'status' });
const has = (storage: string) =>
  server.waitFor(CLAIM, (claim) => (claim.status?.['capacity'] as JsonObject | undefined)?.['storage'] === storage);
const asked = (verb: string) =>
  server.requests.filter((one) => one.verb === verb && one.plural === 'persistentvolumeclaims').length;

test('an expanded volume’s size is written into its claim, and its resize conditions are removed', async () => {
  const conditions = ['FileSystemResizePending', 'Other'].map((type) => ({ type, status: 'True' }));
  status({
    ...{ phase: 'Bound', capacity: { storage: '1Gi' }, conditions },
    allocatedResourceStatuses: { storage: 'NodeResizePending' },
  });
  expansions.put(KEY, expansion('2Gi'));
  const { status: now } = await has('2Gi');
  expect(now).toMatchObject({ phase: 'Bound', conditions: [{ type: 'Other' }] });
  expect(now?.['allocatedResourceStatuses'] ?? {}).toEqual({});
});

test('a size that the claim already has or exceeds is not written, also after a restart', async () => {
  status({ capacity: { storage: '3Gi' } });
  expansions.put(KEY, expansion('2Gi'));
  await server.waitForRequest(() => asked('get') === 1);
  run();
  await server.waitForRequest(() => asked('get') === 2);
  expansions.put(KEY, expansion('4Gi'));
  await has('4Gi');
  expect(asked('patch')).toBe(1);
});

test('a failed write is retried, and another claim of the same name is not changed', async () => {
  const fault = server.inject({ when: ({ verb }) => verb === 'patch', fault: { kind: 'answer', code: 500 }, times: 2 });
  expansions.put(KEY, expansion('2Gi'));
  await has('2Gi');
  expect(fault.hits).toBe(2);
  const patched = asked('patch');
  expansions.put(KEY, { ...expansion('9Gi'), claimUid: 'another' });
  const gets = asked('get');
  await server.waitForRequest(() => asked('get') > gets);
  expansions.put(KEY, expansion('3Gi'));
  await has('3Gi');
  expect(asked('patch')).toBe(patched + 1);
});

test('a deleted claim, or one whose fact was removed, is not requested again', async () => {
  server.inject({ when: ({ verb }) => verb === 'patch', fault: { kind: 'answer', code: 500 } });
  expansions.put(KEY, expansion('2Gi'));
  await server.waitForRequest(() => asked('patch') > 1);
  expansions.remove(KEY);
  const other = { ...expansion('2Gi'), name: 'other' };
  server.create({ ...CLAIM, apiVersion: 'v1', metadata: { name: 'other' }, spec: server.get(CLAIM)?.spec ?? {} });
  expansions.put('default/other', other);
  const before = asked('get');
  await server.waitForRequest(({ name, status: code }) => name === 'other' && code === 403);
  expect(asked('get')).toBeLessThanOrEqual(before + 2);
});
