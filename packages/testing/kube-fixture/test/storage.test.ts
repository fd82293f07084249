import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Cluster, type JsonObject, type ObjectName, nodeCertificate, nodeUser, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
/** Objects outside of the namespace. */
const made: ObjectName[] = [];

beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(async () => {
  for (const name of made) {
    await judged.cluster.patch(name, { metadata: { finalizers: null } });
    await judged.cluster.delete(name);
  }
  await judged.close();
});

const storage = 'storage.k8s.io/v1';
const claimNamed = (name: string) => ({ kind: 'PersistentVolumeClaim', namespace: judged.namespace, name });

async function create(object: JsonObject & { kind: string }, name: string) {
  const answer = await judged.cluster.create({ apiVersion: 'v1', metadata: { name }, ...object });
  made.push({ kind: object.kind, name });
  return answer;
}

const claim = (name: string, spec: JsonObject = {}) =>
  judged.cluster.create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: judged.namespace },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
      ...spec,
    },
    status: { phase: 'Bound' },
  });

const volume = (name: string, source: JsonObject, claimRef?: JsonObject) =>
  create(
    {
      kind: 'PersistentVolume',
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, ...source },
        ...(claimRef !== undefined && { claimRef: { namespace: judged.namespace, ...claimRef } }),
      },
    },
    name,
  );

describe('a claim', () => {
  test('is created in filesystem mode, protected, and without a status', async () => {
    const { spec, status, metadata } = await claim('a');
    expect(spec).toMatchObject({ volumeMode: 'Filesystem' });
    expect(status).toEqual({ phase: 'Pending' });
    expect(metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
  });

  test('must request storage', async () => {
    const body = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'none' }, spec: {} };
    const answer = await judged.send('POST', 'persistentvolumeclaims', body);
    const message =
      /spec.accessModes: Required value: at least 1 access mode is required, spec.resources\[storage\]: Required value/;
    expect(answer).toMatchObject(refused(422, 'Invalid', message));
  });

  test('has its status patched by condition type, and rejects changes of its spec', async () => {
    await claim('b');
    const status = (patch: JsonObject) =>
      judged.cluster.patch(claimNamed('b'), patch, { kind: 'strategic-merge', subresource: 'status' });
    const conditions = ['FileSystemResizePending', 'Other'].map((type) => ({ type, status: 'True' }));
    await status({ status: { conditions, allocatedResourceStatuses: { storage: 'NodeResizePending' } } });
    const { status: now, spec } = await status({
      spec: { volumeMode: 'Block' },
      status: {
        capacity: { storage: '2Gi' },
        conditions: [{ $patch: 'delete', type: 'FileSystemResizePending' }],
        allocatedResourceStatuses: { storage: null },
      },
    });
    expect(now?.['conditions']).toEqual([expect.objectContaining({ type: 'Other' })]);
    expect(now).toMatchObject({ capacity: { storage: '2Gi' } });
    expect(now?.['allocatedResourceStatuses'] ?? {}).toEqual({});
    expect(spec).toMatchObject({ volumeMode: 'Filesystem' });
  });

  test('is kept while it is protected', async () => {
    await claim('c');
    const { body } = await judged.cluster.raw('DELETE', pathOf(claimNamed('c')));
    expect(body).toMatchObject({ kind: 'PersistentVolumeClaim', metadata: { deletionTimestamp: expect.any(String) } });
  });
});

test('a volume gets its defaults', async () => {
  const { spec, metadata } = await volume(`${judged.namespace}-a`, { hostPath: { path: '/x' } });
  expect(spec).toMatchObject({
    ...{ volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' },
    hostPath: { path: '/x', type: '' },
  });
  expect(metadata.finalizers).toEqual(['kubernetes.io/pv-protection']);
});

test('a CSIDriver gets its defaults', async () => {
  const spec = { podInfoOnMount: true };
  const driver = await create({ apiVersion: storage, kind: 'CSIDriver', spec }, `${judged.namespace}.test`);
  expect(driver.spec).toMatchObject({
    ...{ attachRequired: true, podInfoOnMount: true, requiresRepublish: false },
    ...{ fsGroupPolicy: 'ReadWriteOnceWithFSType', volumeLifecycleModes: ['Persistent'] },
  });
});

test('the drivers of a CSINode are immutable except for their attach limit', async () => {
  const driver = { name: 'd.test', nodeID: 'n1', topologyKeys: ['zone.test/a'] };
  const node = await create({ apiVersion: storage, kind: 'CSINode', spec: { drivers: [driver] } }, judged.node);
  const limited = { ...driver, allocatable: { count: 5 } };
  const changed = await judged.cluster.update({ ...node, spec: { drivers: [limited] } });
  expect(changed.spec).toEqual({ drivers: [limited] });
  const put = (drivers: JsonObject[]) =>
    judged.cluster.raw('PUT', pathOf({ kind: 'CSINode', name: judged.node }), {
      body: { ...changed, spec: { drivers } },
    });
  expect(await put([{ ...driver, nodeID: 'n2' }])).toMatchObject(
    refused(422, 'Invalid', /spec.drivers: Invalid value: .*field is immutable/),
  );
  expect(await put([{ ...driver, nodeID: '' }])).toMatchObject(
    refused(422, 'Invalid', /spec.drivers\[0\].nodeID: Required value/),
  );
  expect(await put([])).toMatchObject({ code: 200 });
});

describe('a node', () => {
  let node: Cluster;
  beforeAll(async () => {
    const clientCertificate = await nodeCertificate(judged.cluster, nodeUser(judged.node));
    node = Cluster.fromText(await judged.cluster.kubeconfigText({ clientCertificate }));
  });

  const noWay = (what: string) =>
    refused(
      403,
      'Forbidden',
      new RegExp(`^${what}.*: no relationship found between node '${judged.node}' and this object$`),
    );
  const get = (name: ObjectName) => node.raw('GET', pathOf(name));

  /** The node authorizer may learn of objects a little later. */
  async function may(name: ObjectName): Promise<void> {
    for (let tries = 0; (await get(name)).code === 403 && tries < 500; tries++);
    expect((await get(name)).code).toBe(200);
  }

  test('may read the claims of its pods, their volumes and the Secrets of these', async () => {
    const mine = claimNamed('mine');
    const other = claimNamed('other');
    const pv = `${judged.namespace}-b`;
    const secret = (name: string) => ({ kind: 'Secret', namespace: judged.namespace, name });
    const secretRef = { namespace: judged.namespace, name: 'stage' };
    await volume(pv, { csi: { driver: 'd.test', volumeHandle: 'h', nodeStageSecretRef: secretRef } }, { name: 'mine' });
    for (const name of ['stage', 'unused']) {
      await judged.cluster.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: judged.namespace },
      });
    }
    await claim('mine', { volumeName: pv });
    await claim('other');
    expect(await get(mine)).toMatchObject(noWay('persistentvolumeclaims "mine" is forbidden'));
    await judged.pod('user', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'mine' } }] });
    await may(mine);
    await may({ kind: 'PersistentVolume', name: pv });
    await may(secret('stage'));
    expect(await get(other)).toMatchObject(noWay('persistentvolumeclaims "other" is forbidden'));
    expect(await get(secret('unused'))).toMatchObject(noWay('secrets "unused" is forbidden'));
    expect(await node.raw('GET', pathOf({ ...mine, name: '' }))).toMatchObject(
      refused(403, 'Forbidden', /can only get individual resources of this type$/),
    );
    const patch = { body: { status: { capacity: { storage: '2Gi' } } }, contentType: 'application/merge-patch+json' };
    expect((await node.raw('PATCH', pathOf(mine, 'status'), patch)).code).toBe(200);
    expect(await node.raw('PATCH', pathOf(mine), patch)).toMatchObject({ code: 403 });
  });

  test('may read the generated claim of its pod', async () => {
    const ephemeral = {
      volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    };
    await judged.pod('made', { volumes: [{ name: 'v', ephemeral }] });
    await claim('made-v').catch(() => undefined);
    await may(claimNamed('made-v'));
  });

  test('may list and remove its own ResourceSlices alone', async () => {
    const slice = async (nodeName: string) => {
      const name = `${nodeName}-${judged.namespace}`;
      const pool = { name, generation: 1, resourceSliceCount: 1 };
      const spec = { driver: 'd.test', nodeName, pool, devices: [] };
      await judged.cluster.create({
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceSlice',
        metadata: { name },
        spec,
      });
      return { kind: 'ResourceSlice', name };
    };
    const [mine, other] = [await slice(judged.node), await slice('elsewhere')];
    const many = (verb: string, selector: string) =>
      node.raw(verb, `/apis/resource.k8s.io/v1/resourceslices?fieldSelector=${encodeURIComponent(selector)}`);
    const why = /can only list\/watch\/deletecollection resourceslices with nodeName field selector$/;
    for (const selector of ['', 'spec.driver=d.test', 'spec.nodeName=elsewhere', `spec.nodeName!=${judged.node}`]) {
      expect(await many('DELETE', selector)).toMatchObject(refused(403, 'Forbidden', why));
      expect(await many('GET', selector)).toMatchObject(refused(403, 'Forbidden', why));
    }
    await may(mine);
    expect(await get(other)).toMatchObject(noWay('resourceslices.resource.k8s.io "elsewhere'));
    expect((await many('DELETE', `spec.nodeName=${judged.node},spec.driver=d.test`)).code).toBe(200);
    expect((await judged.cluster.raw('GET', pathOf(mine))).code).toBe(404);
    expect((await judged.cluster.raw('DELETE', pathOf(other))).code).toBe(200);
  });

  test('may read its volume attachments', async () => {
    const attachment = (nodeName: string, name: string) =>
      create(
        {
          ...{ apiVersion: storage, kind: 'VolumeAttachment' },
          spec: { attacher: 'd.test', nodeName, source: { persistentVolumeName: 'x' } },
          status: { attached: true },
        },
        name,
      );
    const mine = { kind: 'VolumeAttachment', name: `${judged.namespace}-a` };
    const other = { kind: 'VolumeAttachment', name: `${judged.namespace}-b` };
    const { status } = await attachment(judged.node, mine.name);
    expect(status).toMatchObject({ attached: false });
    await attachment('another', other.name);
    await may(mine);
    expect(await get(other)).toMatchObject(noWay('volumeattachments.storage.k8s.io'));
    const attached = await judged.cluster.patch(mine, { status: { attached: true } }, { subresource: 'status' });
    expect(attached.status).toMatchObject({ attached: true });
  });

  test('may write only its own CSINode', async () => {
    expect((await get({ kind: 'CSINode', name: judged.node })).code).toBe(200);
    expect(await get({ kind: 'CSINode', name: 'another' })).toMatchObject(
      refused(403, 'Forbidden', /can only access CSINode with the same name as the requesting node$/),
    );
  });
});
