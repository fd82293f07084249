import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { PodStatus } from '@kubus/contracts';
import type { TestCluster, TestNode } from '@kubus/harness';
import { type Cluster, type KubeObject, type TestApiServer, isReady } from '@kubus/kube-fixture';
import { clusterServices, nodeServices } from '@kubus/service-kit';
import { kubectl, sharedClusterNode } from '../src/cluster-node.ts';
import { container, pod, podRunning } from '../src/pods.ts';

let joined: TestCluster;
let node: TestNode;
let cluster: Cluster;

sharedClusterNode({}, (started) => {
  ({ node, cluster: joined } = started);
  cluster = joined.api;
});

/** Runs kubectl, which has to succeed. */
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(joined, args);
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

/** Creates a pod that is bound to the node, as by a scheduler. */
async function create(manifest: object): Promise<KubeObject> {
  const { spec, ...rest } = manifest as { spec: object };
  return cluster.create({ ...rest, spec: { ...spec, nodeName: node.name } });
}

function statusOf({ status }: KubeObject): PodStatus {
  return status ?? {};
}

async function deletePod(name: string): Promise<void> {
  await cluster.delete({ kind: 'Pod', name });
  await cluster.waitGone({ kind: 'Pod', name });
}

test('the Node object is ready, with a lease that is renewed', async () => {
  const object = await cluster.waitFor({ kind: 'Node', name: node.name }, isReady);
  expect(object.metadata.labels).toMatchObject({ 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux' });
  expect(object.status?.['addresses']).toContainEqual({ type: 'InternalIP', address: '192.0.2.1' });
  const { capacity, nodeInfo, daemonEndpoints } = object.status as Record<string, Record<string, unknown>>;
  expect(capacity?.['pods']).toBe('110');
  expect(nodeInfo?.['containerRuntimeVersion']).toMatch(/^containerd:\/\//);
  expect(daemonEndpoints).toEqual({ kubeletEndpoint: { Port: 10_250 } });
  const lease = { kind: 'Lease', namespace: 'kube-node-lease', name: node.name };
  const renewed = (one: KubeObject) => (one as unknown as { spec: { renewTime: string } }).spec.renewTime;
  const held = await cluster.waitFor(lease, () => true);
  expect(held.spec).toMatchObject({ holderIdentity: node.name, leaseDurationSeconds: 40 });
  const first = renewed(held);
  await cluster.waitFor(lease, (one) => renewed(one) > first);
  expect(await ok('describe', 'node', node.name)).toContain('KubeletReady');
});

test('kubectl applies, waits for, shows, reads and deletes a pod', async () => {
  const manifest = podRunning('web', 'echo hello from web; trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done');
  const file = join(node.folder, 'web.json');
  await writeFile(file, JSON.stringify(manifest));
  await ok('apply', '-f', file);
  await ok('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s');
  expect(await ok('get', 'pod', 'web', '-o', 'jsonpath={.status.phase} {.spec.nodeName}')).toBe(`Running ${node.name}`);
  const described = await ok('describe', 'pod', 'web');
  for (const text of ['Created', 'Started', 'ContainersReady', 'containerd://']) expect(described).toContain(text);
  if (joined.server !== undefined) {
    expect(await ok('logs', 'web')).toBe('hello from web\n');
    expect(await ok('logs', 'web', '--tail=1', '--timestamps')).toMatch(/^\d{4}-.*Z hello from web\n$/);
  }
  const { metadata } = await cluster.waitFor({ kind: 'Pod', name: 'web' }, () => true);
  await ok('delete', 'pod', 'web', '--timeout=60s');
  await node.watch.until('nothing of it on the node', () =>
    node.watch.pod(metadata.uid) === undefined ? true : undefined,
  );
});

test('kubectl debug inspects a pod with an ephemeral container', async () => {
  await create(pod('looked-at', { shareProcessNamespace: true }));
  await cluster.waitFor({ kind: 'Pod', name: 'looked-at' }, isReady);
  const { image = '' } = container({ name: 'x' });
  const command = ['--', 'sh', '-c', 'echo looked; ps | grep -c "sleep 3600"'];
  await ok(
    'debug',
    'looked-at',
    `--image=${image}`,
    '--image-pull-policy=IfNotPresent',
    '-c',
    'look',
    '--profile=general',
    ...command,
  );
  const ended = await cluster.waitFor({ kind: 'Pod', name: 'looked-at' }, (one) =>
    (statusOf(one).ephemeralContainerStatuses ?? []).some(({ state }) => state?.terminated !== undefined),
  );
  expect(statusOf(ended).ephemeralContainerStatuses?.[0]).toMatchObject({
    name: 'look',
    state: { terminated: { exitCode: 0 } },
  });
  await deletePod('looked-at');
});

test('kubectl drain empties the node, and uncordon admits pods again', async () => {
  await create(pod('drained'));
  await cluster.waitFor({ kind: 'Pod', name: 'drained' }, isReady);
  await ok('drain', node.name, '--ignore-daemonsets', '--force', '--timeout=60s');
  expect(await cluster.get({ kind: 'Pod', name: 'drained' })).toBeUndefined();
  expect(await ok('get', 'node', node.name, '-o', 'jsonpath={.spec.unschedulable}')).toBe('true');
  await ok('uncordon', node.name);
});

if (process.env['KUBECONFIG'] === undefined) defineOutageTest();
else defineDeploymentTest();

/** The test API server has no controllers. */
function defineDeploymentTest(): void {
  test('the pods of a Deployment roll out, change and are removed', async () => {
    const { image = '' } = container({ name: 'x' });
    await ok('create', 'deployment', 'rolled', `--image=${image}`, '--replicas=3', '--', 'sleep', '3600');
    await ok('rollout', 'status', 'deployment/rolled', '--timeout=60s');
    await ok('set', 'env', 'deployment/rolled', 'CHANGED=yes');
    await ok('rollout', 'status', 'deployment/rolled', '--timeout=90s');
    const pods = JSON.parse(await ok('get', 'pods', '-l', 'app=rolled', '-o', 'json')) as { items: KubeObject[] };
    const present = pods.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(present.map((one) => [isReady(one), one.spec?.['nodeName']])).toEqual(present.map(() => [true, node.name]));
    await ok('delete', 'deployment', 'rolled');
    await ok('wait', '--for=delete', 'pod', '-l', 'app=rolled', '--timeout=60s');
  });
}

test('a static pod has a mirror pod that is created again, and removed with it', async () => {
  await node.writeManifest('static.json', pod('fixed'));
  const name = { kind: 'Pod', name: `fixed-${node.name}` };
  const mirror = await cluster.waitFor(name, isReady);
  expect(mirror.metadata['ownerReferences']).toMatchObject([{ kind: 'Node', name: node.name, controller: true }]);
  expect(mirror.metadata.annotations).toMatchObject({
    'kubernetes.io/config.source': 'file',
    'kubernetes.io/config.mirror': expect.any(String),
  });
  const started = statusOf(mirror).containerStatuses?.[0]?.containerID;
  await cluster.delete(name, { gracePeriodSeconds: 0 });
  const again = await cluster.waitFor(name, (one) => one.metadata.uid !== mirror.metadata.uid && isReady(one));
  expect(statusOf(again).containerStatuses?.[0]).toMatchObject({ containerID: started, restartCount: 0 });
  await node.removeManifest('static.json');
  await cluster.waitGone(name);
});

test('values of Secrets and ConfigMaps reach the container', async () => {
  await cluster.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'sec' },
    data: { token: Buffer.from('s3cret').toString('base64') },
  });
  await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { COLOR: 'blue' } });
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'sec', key: 'token' } } }];
  await create(
    pod('values', { containers: [container({ name: 'main', env, envFrom: [{ configMapRef: { name: 'conf' } }] })] }),
  );
  await cluster.waitFor({ kind: 'Pod', name: 'values' }, isReady);
  const { uid } = (await cluster.waitFor({ kind: 'Pod', name: 'values' }, () => true)).metadata;
  const { stdout } = await node.kubus('exec', 'values', '--', 'sh', '-c', 'echo $TOKEN $COLOR');
  expect({ uid, stdout }).toEqual({ uid, stdout: 's3cret blue\n' });
  await deletePod('values');
});

test('the node reaches the desired state although every service and the API server are restarted', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `busy-${index}`);
  const crashing = podRunning('crashing', 'sleep 1; exit 3');
  await Promise.all([...names.map((name) => create(pod(name))), create(crashing)]);
  for (const service of [...nodeServices, ...clusterServices]) await node.kill(`${service}-0`);
  await joined.server?.pause();
  for (const service of clusterServices) await node.kill(`${service}-0`);
  await joined.server?.resume();
  const ready = await Promise.all(names.map((name) => cluster.waitFor({ kind: 'Pod', name }, isReady)));
  expect(ready.map((one) => statusOf(one).containerStatuses?.[0]?.restartCount)).toEqual(names.map(() => 0));
  await cluster.waitFor(
    { kind: 'Pod', name: 'crashing' },
    (one) => (statusOf(one).containerStatuses?.[0]?.restartCount ?? 0) > 0,
  );
  await Promise.all(names.map((name) => cluster.delete({ kind: 'Pod', name })));
  for (const service of ['status-manager', 'pod-workers', 'config-sources']) await node.kill(`${service}-0`);
  await Promise.all([...names.map((name) => cluster.waitGone({ kind: 'Pod', name })), deletePod('crashing')]);
});

/** A real API server must not be stopped. */
function defineOutageTest(): void {
  test('without its API server the node continues, and reports everything afterwards', async () => {
    const server = joined.server as TestApiServer;
    const line = 'n=$(cat /tmp/n 2>/dev/null || echo 0); trap "exit 1" TERM; while :; do sleep 3600 & wait $!; done';
    await create(podRunning('going-on', line));
    await create(pod('leaving'));
    const before = await Promise.all(
      ['going-on', 'leaving'].map((name) => cluster.waitFor({ kind: 'Pod', name }, isReady)),
    );
    const [goingOn, leaving] = before.map(({ metadata }) => metadata.uid);
    await server.pause();
    // A container that ends is restarted, a service that ends is restarted, and running ones are not affected.
    await node.kubus('exec', 'going-on', '--', 'sh', '-c', 'kill -TERM 1');
    await node.watch.until('it has restarted', () =>
      node.watch.pod(goingOn ?? '')?.status?.containerStatuses?.[0]?.restartCount === 1 ? true : undefined,
    );
    for (const service of ['config-sources', 'sync-loop', 'status-manager', 'object-cache', 'node-agent'] as const) {
      await node.restart(`${service}-0`);
    }
    expect(node.watch.pod(leaving ?? '')?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await node.writeManifest('meanwhile.json', pod('meanwhile'));
    await node.watch.waitForPod(`meanwhile-${node.name}`);
    const asked = server.requests.length;
    await server.resume();
    await cluster.waitFor(
      { kind: 'Pod', name: 'going-on' },
      (one) => statusOf(one).containerStatuses?.[0]?.restartCount === 1,
    );
    await cluster.waitFor({ kind: 'Pod', name: `meanwhile-${node.name}` }, isReady);
    const writes = server.requests
      .slice(asked)
      .filter(({ verb, path }) => verb === 'patch' && path.includes('/pods/going-on/'));
    expect(writes).toHaveLength(1);
    await node.removeManifest('meanwhile.json');
    await Promise.all(['going-on', 'leaving'].map(deletePod));
  });
}
