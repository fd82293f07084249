import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PodEvent } from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { type KubeObject, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger, sleep } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { EventWriter } from '../src/index.ts';
import { fastClock, line } from './scripted-node.ts';

let server: TestApiServer;
let client: KubeClient;
let writer: EventWriter;

beforeEach(async () => {
  server = await TestApiServer.start();
  const kubeconfig = await server.kubeconfig(nodeUser('n1'));
  client = await KubeClient.open({ kubeconfig, userAgent: 'test', clock: systemClock, logger: silentLogger });
  writer = start();
});

afterEach(async () => {
  writer.stop();
  await client.close();
  await server.close();
});

function start(): EventWriter {
  const rate = { qps: 50, burst: 100 };
  const ports = { client, clock: fastClock, ids: systemIds, logger: silentLogger };
  return new EventWriter({ ...ports, node: 'n1', rate, resourceVersion: () => '7' });
}

function event(change: Partial<PodEvent> = {}): PodEvent {
  return {
    ref: { namespace: 'default', name: 'web', uid: 'u1' },
    ...{ type: 'Warning', reason: 'BackOff', message: 'no', count: 1, series: 'pod-workers-0.1.1' },
    ...{ firstTimestamp: '2030-01-01T00:00:00.000Z', lastTimestamp: '2030-01-01T00:00:00.000Z' },
    ...change,
  };
}

const repeat = (count: number) =>
  event({ count, lastTimestamp: `2030-01-01T00:00:${String(count).padStart(2, '0')}.000Z` });

/** Resolves with the only event of the default namespace, once it has happened so often. */
async function happened(count: number): Promise<KubeObject> {
  await server.waitForRequest(() => server.list('Event', 'default').some((one) => one['count'] === count));
  const all = server.list('Event', 'default');
  expect(all).toHaveLength(1);
  return all[0] as KubeObject;
}

test('an event is created, and patched when it is repeated', async () => {
  writer.add(event());
  const first = await happened(1);
  expect(first).toMatchObject({
    involvedObject: {
      kind: 'Pod',
      namespace: 'default',
      name: 'web',
      uid: 'u1',
      apiVersion: 'v1',
      resourceVersion: '7',
    },
    ...{ type: 'Warning', reason: 'BackOff', message: 'no', source: { component: 'kubelet', host: 'n1' } },
  });
  writer.add(repeat(2));
  expect(await happened(2)).toMatchObject({
    metadata: { uid: first.metadata.uid },
    firstTimestamp: '2030-01-01T00:00:00Z',
    lastTimestamp: '2030-01-01T00:00:02Z',
  });
});

test('a repeat patches the event of an earlier process', async () => {
  writer.add(event());
  await happened(1);
  writer.stop();
  writer = start();
  writer.add(repeat(2));
  await happened(2);
});

test('a repeat of a deleted event creates it again', async () => {
  writer.add(event());
  const { metadata } = await happened(1);
  server.delete({ kind: 'Event', name: metadata.name });
  writer.add(repeat(2));
  expect((await happened(2)).metadata.uid).not.toBe(metadata.uid);
});

test('an event whose creation was not answered is not created twice', async () => {
  server.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'reset', after: 'effect' }, times: 1 });
  writer.add(event());
  await server.waitForRequest(({ verb }) => verb === 'patch');
  await happened(1);
});

test('a refused event is dropped, and the next one is written', async () => {
  writer.add(event({ ref: { namespace: 'gone', name: 'web', uid: 'u2' }, series: 'pod-workers-0.1.2' }));
  await server.waitForRequest(({ namespace, status }) => namespace === 'gone' && status !== undefined);
  writer.add(event());
  await happened(1);
  expect(server.requests.map(line)).toEqual(['create gone/events 404', 'create default/events 201']);
  expect(writer.counts).toMatchObject({ rejected: 1 });
});

test('during an outage the newest event of each series waits, and an event is dropped after twelve attempts', async () => {
  await server.pause();
  writer.add(event());
  writer.add(repeat(2));
  writer.add(repeat(3));
  const other = event({ series: 'pod-workers-0.1.2', reason: 'Other', count: 9 });
  writer.add(other);
  expect(writer.waiting).toBeLessThanOrEqual(2);
  while (writer.counts.failed === 0) await sleep(fastClock, 1_000);
  await server.resume();
  // Either of the two may have been dropped.
  await server.waitForRequest(() => server.list('Event').length > 0);
  expect([[3], [9]]).toContainEqual(server.list('Event').map(({ count }) => count));
  expect(writer.counts).toMatchObject({ failed: 1 });
});

test('no more than a thousand events wait', () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  server.inject({ when: () => true, fault: { kind: 'delay', until: promise } });
  for (let at = 0; at < 1_010; at += 1) writer.add(event({ series: `pod-workers-0.1.${at}` }));
  // Four are being written.
  expect([writer.waiting, writer.counts.dropped]).toEqual([1_000, 6]);
  writer.stop();
  resolve(undefined);
});
