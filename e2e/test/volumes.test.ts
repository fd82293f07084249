import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import type { Cluster } from '@kubus/kube-fixture';
import { ClusterClaims } from '../src/cluster-claims.ts';
import { sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { containerStatus, eventMessages, waitingReason } from '../src/pod-facts.ts';
import { container, image, shell } from '../src/pods.ts';
import { placesOf } from '../src/value-search.ts';

let node: TestNode;
let cluster: Cluster;
let pods: ClusterPods;
let claims: ClusterClaims;

sharedClusterNode({}, (started) => {
  node = started.node;
  cluster = started.cluster.api;
  pods = new ClusterPods(started);
  claims = new ClusterClaims(started);
});

const data = { name: 'data', emptyDir: {} };
const whole = [{ name: 'data', mountPath: '/all' }];

describe('subpaths of volumes', () => {
  test('are visible in a container, also with names from a ConfigMap', async () => {
    const metadata = { name: 'where' };
    await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { folder: 'of/map' } });
    const first = container({
      name: 'first',
      command: shell('echo linked >/all/real && ln -s real /all/link'),
      volumeMounts: whole,
    });
    const main = container({
      name: 'main',
      env: [
        { name: 'FOLDER', valueFrom: { configMapKeyRef: { name: 'where', key: 'folder' } } },
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      volumeMounts: [
        ...whole,
        { name: 'data', mountPath: '/sub', subPath: 'sub/deep' },
        { name: 'data', mountPath: '/expr', subPathExpr: '$(FOLDER)/$(POD)' },
        { name: 'data', mountPath: '/ro', subPath: 'sub', readOnly: true, recursiveReadOnly: 'IfPossible' },
        { name: 'data', mountPath: '/one', subPath: 'link' },
      ],
    });
    const spec = { volumes: [data], securityContext: { fsGroup: 1234 }, initContainers: [first], containers: [main] };
    const one = await pods.run('parts', spec);
    const line = `
      echo whole >/sub/file
      echo named >/expr/file
      cat /all/sub/deep/file /all/of/map/parts/file /ro/deep/file /one
      echo written 2>/dev/null >/ro/file || echo read-only
      stat -c %a:%g /sub /expr`;
    const seen = ['whole', 'named', 'whole', 'linked', 'read-only', '2777:1234', '2777:1234'];
    expect(await pods.inside('parts', 'main', line)).toEqual(seen);
    const { runtimeHandlers = [] } = await node.cri('Status', {});
    const isAble = runtimeHandlers.some(({ name, features }) => name === 'kubus' && features?.recursiveReadOnlyMounts);
    const said = containerStatus(one, 'main')?.volumeMounts?.find(({ mountPath }) => mountPath === '/ro');
    expect(said).toMatchObject({ readOnly: true, recursiveReadOnly: isAble ? 'Enabled' : 'Disabled' });
    expect((await pods.mountsOf(one.ref.uid)).sort()).toEqual(
      [1, 2, 3, 4].map((i) => `volume-subpaths/data/main/${i}`),
    );
    await pods.remove(one);
  });

  test('that lead out of the volume are refused', async () => {
    const first = container({ name: 'first', command: shell('ln -s /etc /all/out'), volumeMounts: whole });
    const main = container({ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/in', subPath: 'out' }] });
    const isRefused = (one: WatchedPod) => waitingReason(one) === 'CreateContainerConfigError';
    const one = await pods.run('escape', { volumes: [data], initContainers: [first], containers: [main] }, isRefused);
    const message = 'failed to prepare subPath for volumeMount "data" of container "main"';
    expect(eventMessages(node, one, 'Failed')).toContain(`Error: ${message}`);
    expect(containerStatus(one)?.state).toEqual({ waiting: { reason: 'CreateContainerConfigError', message } });
    await pods.remove(one);
  });
});

test('mounts of a container are visible as its mount propagation requests, and are removed with the pod', async () => {
  const containers = ['None', 'HostToContainer', 'Bidirectional'].map((mountPropagation) =>
    container({
      name: mountPropagation.toLowerCase(),
      volumeMounts: [{ name: 'data', mountPath: '/all', mountPropagation }],
      ...(mountPropagation === 'Bidirectional' && { securityContext: { privileged: true } }),
    }),
  );
  const one = await pods.run('propagates', { volumes: [data], containers });
  const line = 'mkdir /all/mounted && mount -t tmpfs tmpfs /all/mounted && echo through >/all/mounted/file';
  await pods.inside('propagates', 'bidirectional', line);
  expect(await pods.mountsOf(one.ref.uid)).toEqual(['volumes/kubernetes.io~empty-dir/data/mounted']);
  expect(await pods.inside('propagates', 'hosttocontainer', 'cat /all/mounted/file')).toEqual(['through']);
  expect(await pods.inside('propagates', 'none', 'ls -A /all/mounted')).toEqual(['']);
  await pods.remove(one);
});

test('an image is mounted as a volume if the runtime supports it; otherwise the container status has the reason', async () => {
  const { runtimeVersion = '' } = await node.cri('Version', {});
  const [major = 0, minor = 0] = runtimeVersion.replace('v', '').split('.').map(Number);
  const isAble = major > 2 || (major === 2 && minor >= 1);
  const spec = {
    volumes: [{ name: 'img', image: { reference: image, pullPolicy: 'IfNotPresent' } }],
    containers: [container({ name: 'main', volumeMounts: [{ name: 'img', mountPath: '/img' }] })],
  };
  const one = await pods.run('image', spec, (seen) =>
    isAble ? isReady(seen) : waitingReason(seen) === 'CreateContainerError',
  );
  if (isAble) {
    const line = '/img/bin/busybox echo works; echo written 2>/dev/null >/img/file || echo read-only';
    expect(await pods.inside('image', 'main', line)).toEqual(['works', 'read-only']);
  } else {
    expect(containerStatus(one)?.state?.waiting?.message).toContain('failed to mkdir ""');
  }
  await pods.remove(one);
});

/** A value that exists only in a Secret. */
const VALUE = 'marked-volume-c0ffee';
const base64 = (text: string) => Buffer.from(text).toString('base64');

async function put(kind: string, name: string, content: object): Promise<void> {
  await cluster.create({ apiVersion: 'v1', kind, metadata: { name }, ...content });
}

/** The spec of a pod whose container has each of these volumes at `/<its name>`. */
function mounting(volumes: NonNullable<PodSpec['volumes']>, spec: Partial<PodSpec> = {}): Partial<PodSpec> {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return { volumes, containers: [container({ name: 'main', volumeMounts })], ...spec };
}

/** The output of a shell line in the container `main`. */
async function said(name: string, line: string): Promise<string> {
  return (await pods.inside(name, 'main', line)).join('\n');
}

describe('files that the node writes', () => {
  const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1234 };
  const volumes = [
    { name: 'secret', secret: { secretName: 'sec', defaultMode: 0o400 } },
    { name: 'config', configMap: { name: 'conf', items: [{ key: 'blob', path: 'deep/blob', mode: 0o600 }] } },
    {
      name: 'all',
      projected: {
        sources: [
          { secret: { name: 'sec', items: [{ key: 'key', path: 'from/secret' }] } },
          { configMap: { name: 'conf', items: [{ key: 'text', path: 'from/config' }] } },
          { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 600 } },
        ],
      },
    },
  ];

  test('are in the container with their content, modes and owners, and nowhere else', async () => {
    await put('Secret', 'sec', { data: { key: base64(VALUE) } });
    await put('ConfigMap', 'conf', { data: { text: 'hello' }, binaryData: { blob: base64('binary') } });
    await put('ServiceAccount', 'robot', {});
    const one = await pods.run('files', mounting(volumes, { securityContext, serviceAccountName: 'robot' }));
    const paths = ['/secret/key', '/config/deep/blob', '/all/from/secret', '/all/labels', '/all/token', '/all'];
    expect(await pods.inside('files', 'main', `stat -Lc '%a %u:%g %n' ${paths.join(' ')}`)).toEqual([
      '440 0:1234 /secret/key',
      '640 0:1234 /config/deep/blob',
      '644 0:1234 /all/from/secret',
      '644 0:1234 /all/labels',
      '640 1000:1234 /all/token',
      '3777 0:1234 /all',
    ]);
    expect(await said('files', 'cat /secret/key /config/deep/blob /all/from/secret /all/from/config')).toBe(
      `${VALUE}binary${VALUE}hello`,
    );
    expect(await said('files', 'touch /secret/new /config/new 2>&1 | grep -c "Read-only file system"')).toBe('2');
    expect(await said('files', 'grep -c " /secret tmpfs " /proc/mounts')).toBe('1');
    const claims = JSON.parse(
      Buffer.from(await said('files', 'cut -d. -f2 /all/token'), 'base64url').toString(),
    ) as Record<string, unknown>;
    const { uid } = one.ref;
    expect(claims).toMatchObject({ aud: ['vault'], 'kubernetes.io': { pod: { name: 'files', uid } } });
    const isInMemory = (place: string) => /\/volumes\/kubernetes\.io~(secret|projected)\//.test(place);
    const places = await placesOf(node, [VALUE, base64(VALUE)]);
    expect(places.filter((place) => !isInMemory(place))).toEqual([]);
    expect(places.filter(isInMemory)).toHaveLength(2);
  });

  test('change in the container when their object or the pod changes', async () => {
    await cluster.patch({ kind: 'Secret', name: 'sec' }, { data: { key: base64('changed') } });
    await cluster.patch({ kind: 'Pod', name: 'files' }, { metadata: { labels: { color: 'blue' } } });
    const seen = (file: string, text: string) =>
      said('files', `timeout 30 sh -c 'until grep -q ${text} ${file}; do usleep 50000; done' && echo seen`);
    expect(await seen('/secret/key', 'changed')).toBe('seen');
    expect(await seen('/all/from/secret', 'changed')).toBe('seen');
    expect(await seen('/all/labels', 'blue')).toBe('seen');
    await pods.remove(await node.watch.waitForPod('files'));
  });
});

describe('an object that does not exist', () => {
  test('is reported, and the pod starts once it exists', async () => {
    const message = 'MountVolume.SetUp failed for volume "late" : secret "late" not found';
    const isTold = (one: WatchedPod) =>
      waitingReason(one) === 'ContainerCreating' && eventMessages(node, one, 'FailedMount').includes(message);
    await pods.run('waiting', mounting([{ name: 'late', secret: { secretName: 'late' } }]), isTold);
    await put('Secret', 'late', { data: { key: base64('there') } });
    const one = await node.watch.waitForPod('waiting');
    expect(await said('waiting', 'cat /late/key')).toBe('there');
    await pods.remove(one);
  });
});

describe('claims', () => {
  const claimed = (claimName: string, readOnly = false) => ({
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName, readOnly } }],
    containers: [container({ name: 'main', volumeMounts: whole })],
  });
  const folderOf = (path: string) => ({ hostPath: { path, type: 'DirectoryOrCreate' } });

  test('give pods their volumes; until they are bound, pods wait with the reason', async () => {
    const folder = join(node.folder, 'claimed');
    await claims.create('later');
    const problem = 'error processing PVC default/later: PVC is not bound';
    const volumes = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]';
    const said = `Unable to attach or mount volumes: ${volumes}: ${problem}`;
    const writing = await pods.run('writing', claimed('later'), () => true);
    await node.watch.until('why it waits', () =>
      eventMessages(node, writing, 'FailedMount').includes(said) ? true : undefined,
    );
    await claims.bind('later', folderOf(folder));
    await node.watch.waitForPod('writing', isReady);
    await pods.inside('writing', 'main', 'echo claimed >/all/file');
    const reading = await pods.run('reading', claimed('later', true));
    const line = 'cat /all/file; echo written 2>/dev/null >/all/file || echo read-only';
    expect(await pods.inside('reading', 'main', line)).toEqual(['claimed', 'read-only']);
    for (const one of [writing, reading]) await pods.remove(one);
    expect(await readFile(join(folder, 'file'), 'utf8')).toBe('claimed\n');
    await claims.release('later');
  });

  test('that are generated for a pod belong to it', async () => {
    const storage = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    const volumeClaimTemplate = { spec: { ...storage, resources: { requests: { storage: '1Mi' } } } };
    const spec = { ...claimed(''), volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate } }] };
    const one = await pods.run('own', spec, () => true);
    const claim = await claims.createFor(one.ref, 'data');
    await claims.bind(claim, folderOf(join(node.folder, 'own')));
    await node.watch.waitForPod('own', isReady);
    expect(await pods.inside('own', 'main', 'echo own >/all/file; cat /all/file')).toEqual(['own']);
    await pods.remove(one);
    await claims.release(claim);
  });
});
