import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Cluster, type JsonObject, TestApiServer } from '../src/index.ts';

let server: TestApiServer;
let cluster: Cluster;

beforeEach(async () => {
  server = await TestApiServer.start({ volumes: true });
  cluster = Cluster.open(await server.kubeconfig());
  await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
});
afterEach(() => server.close());

const CLAIM = { kind: 'PersistentVolumeClaim', namespace: 'a', name: 'data' };
const volumeNamed = (name: string) => ({ kind: 'PersistentVolume', name });
const isIn =
  (phase: string) =>
  ({ status }: JsonObject) =>
    (status as JsonObject | undefined)?.['phase'] === phase;

const volume = (name: string, storage: string, more: JsonObject = {}) =>
  cluster.create({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage }, hostPath: { path: `/data/${name}` }, ...more },
  });
const claim = (more: JsonObject = {}) =>
  cluster.create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: CLAIM.name, namespace: CLAIM.namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...more },
  });

test.each<[string, JsonObject, string]>([
  ['the smallest that is large enough', {}, 'fitting'],
  ['the one that it names', { volumeName: 'large' }, 'large'],
  ['one of its class', { storageClassName: 'fast' }, 'fast'],
])('a claim is bound to %s', async (_, spec, wanted) => {
  await volume('small', '1Gi');
  await volume('large', '10Gi');
  await volume('fitting', '2Gi');
  await volume('fast', '20Gi', { storageClassName: 'fast' });
  await volume('others', '2Gi', { claimRef: { namespace: 'a', name: 'other' } });
  const { metadata } = await claim(spec);
  const bound = await cluster.waitFor(CLAIM, isIn('Bound'));
  expect(bound).toMatchObject({
    metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: wanted },
    status: { accessModes: ['ReadWriteOnce'] },
  });
  const { uid } = metadata;
  expect(await cluster.waitFor(volumeNamed(wanted), isIn('Bound'))).toMatchObject({
    spec: { claimRef: { kind: 'PersistentVolumeClaim', namespace: 'a', name: 'data', uid } },
  });
  await cluster.waitFor(volumeNamed('small'), isIn('Available'));
});

test('a claim waits for a volume that comes later, and a reserved volume for its claim', async () => {
  await claim();
  await volume('reserved', '5Gi', { claimRef: { namespace: 'a', name: 'data' } });
  expect(await cluster.waitFor(CLAIM, isIn('Bound'))).toMatchObject({ spec: { volumeName: 'reserved' } });
});

test('a claim in use stays until its pod is gone; its volume is released, and goes when it is deleted', async () => {
  await volume('v', '2Gi');
  await claim();
  await cluster.waitFor(CLAIM, isIn('Bound'));
  const pod = { kind: 'Pod', namespace: 'a', name: 'user' };
  await cluster.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'user', namespace: 'a' },
    spec: {
      nodeName: 'n',
      containers: [{ name: 'c', image: 'busybox:1' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  });
  await cluster.delete(volumeNamed('v'));
  await cluster.delete(CLAIM);
  // Made after the deletions were looked at.
  await volume('later', '1Gi');
  await cluster.waitFor(volumeNamed('later'), isIn('Available'));
  expect(await cluster.get(CLAIM)).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } });
  await cluster.delete(pod, { gracePeriodSeconds: 0 });
  await cluster.waitGone(CLAIM);
  await cluster.waitGone(volumeNamed('v'));
});

test('a volume whose claim is deleted is released and kept; a claim whose volume is gone is lost', async () => {
  await volume('v', '2Gi');
  await claim();
  await cluster.waitFor(CLAIM, isIn('Bound'));
  await cluster.delete(CLAIM);
  await cluster.waitFor(volumeNamed('v'), isIn('Released'));
  await claim();
  await volume('w', '2Gi');
  expect(await cluster.waitFor(CLAIM, isIn('Bound'))).toMatchObject({ spec: { volumeName: 'w' } });
  await cluster.patch(volumeNamed('w'), { spec: { claimRef: null } });
  await cluster.waitFor(CLAIM, isIn('Lost'));
});
