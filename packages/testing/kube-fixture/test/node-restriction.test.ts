import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Cluster, type JsonObject, type KubeObject, nodeUser, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
let node: Cluster;
let own: KubeObject;

beforeAll(async () => {
  judged = await JudgedCluster.open();
  node = await clientOf(judged.node);
  own = await node.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: judged.node } });
});
afterAll(() => judged.close());

const clientOf = (name: string) => judged.clientOf(nodeUser(name));

/** Refused because of the object, in these words. */
const forbidden = (what: string, why: string) =>
  refused(403, 'Forbidden', new RegExp(`^${`${what} is forbidden: ${why}`.replaceAll(/[.()[\]]/g, '\\$&')}$`));
const post = (path: string, body: JsonObject) => node.raw('POST', path, { body });
const merge = (path: string, body: JsonObject) =>
  node.raw('PATCH', path, { body, contentType: 'application/merge-patch+json' });
const nodePath = () => pathOf({ kind: 'Node', name: judged.node });

describe('a Node object', () => {
  test('is read and written by its own node alone', async () => {
    const other = `${judged.node}-other`;
    await judged.cluster.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: other } });
    const path = pathOf({ kind: 'Node', name: other });
    const why = `node "${judged.node}" is not allowed to modify node "${other}"`;
    expect(await merge(path, { metadata: { labels: { a: 'b' } } })).toMatchObject(forbidden(`nodes "${other}"`, why));
    expect(await merge(`${path}/status`, { status: { phase: 'Running' } })).toMatchObject(
      forbidden(`nodes "${other}"`, why),
    );
    const third = `${judged.node}-third`;
    expect(await post('/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: third } })).toMatchObject(
      forbidden(`nodes "${third}"`, `node "${judged.node}" is not allowed to modify node "${third}"`),
    );
    expect(await node.raw('GET', path)).toMatchObject(
      refused(
        403,
        'Forbidden',
        new RegExp(`: node '${judged.node}' cannot read '${other}', only its own Node object$`),
      ),
    );
    expect(await node.raw('GET', '/api/v1/nodes')).toMatchObject(
      refused(403, 'Forbidden', new RegExp(`: node '${judged.node}' cannot read all nodes, only its own Node object$`)),
    );
    await judged.cluster.delete({ kind: 'Node', name: other });
  });

  test('gets no labels from its node by which it could draw pods to itself', async () => {
    const patch = (labels: JsonObject) => merge(nodePath(), { metadata: { labels } });
    const labels = {
      'node-restriction.kubernetes.io/a': 'b',
      'a.node-restriction.kubernetes.io/b': 'b',
      'x.k8s.io/c': '',
    };
    expect(await patch(labels)).toMatchObject(
      forbidden(`nodes "${judged.node}"`, `is not allowed to modify labels: ${Object.keys(labels).sort().join(', ')}`),
    );
    const allowed = { free: 'a', 'topology.kubernetes.io/zone': 'z', 'x.node.kubernetes.io/y': 'y' };
    expect(await patch(allowed)).toMatchObject({ code: 200, body: { metadata: { labels: allowed } } });
    await judged.cluster.patch({ kind: 'Node', name: judged.node }, { metadata: { labels: { 'x.k8s.io/c': 'c' } } });
    expect((await patch({ 'x.k8s.io/c': null })).code).toBe(403);
    const third = await clientOf(`${judged.node}-third`);
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: `${judged.node}-third`, labels } };
    expect(await third.raw('POST', '/api/v1/nodes', { body })).toMatchObject(
      refused(
        403,
        'Forbidden',
        /is not allowed to set the following labels: a\.node-restriction\.kubernetes\.io\/b, node-r/,
      ),
    );
  });

  test('keeps its taints and owners', async () => {
    const taints = [{ key: 'k', effect: 'NoExecute' }];
    const what = `nodes "${judged.node}"`;
    expect(await merge(nodePath(), { spec: { taints } })).toMatchObject(
      forbidden(what, `node "${judged.node}" is not allowed to modify taints`),
    );
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }];
    expect(await merge(`${nodePath()}/status`, { metadata: { ownerReferences } })).toMatchObject(
      forbidden(what, `node "${judged.node}" is not allowed to modify ownerReferences`),
    );
  });
});

describe('a pod', () => {
  const owner = () => ({ apiVersion: 'v1', kind: 'Node', name: judged.node, uid: own.metadata.uid, controller: true });
  const mirror = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}) =>
    judged.podObject(name, spec, {
      annotations: { 'kubernetes.io/config.mirror': 'hash' },
      ownerReferences: [owner()],
      ...metadata,
    });
  const only = () => `node "${judged.node}" can only create`;

  test('of a node is a mirror pod on itself', async () => {
    const made = await post(judged.path('pods'), mirror('mirror'));
    expect(made).toMatchObject({ code: 201, body: { spec: { nodeName: judged.node } } });
    const tries: readonly [JsonObject, JsonObject, string][] = [
      [{}, { annotations: {} }, `pod does not have "kubernetes.io/config.mirror" annotation, ${only()} mirror pods`],
      [{ nodeName: 'else' }, {}, `${only()} pods with spec.nodeName set to itself`],
      [{}, { ownerReferences: [] }, `${only()} pods with an owner reference set to itself`],
      [
        {},
        { ownerReferences: [owner(), { ...owner(), controller: false, uid: 'v' }] },
        `${only()} pods with a single owner reference set to itself`,
      ],
      [
        {},
        { ownerReferences: [{ ...owner(), controller: false }] },
        `${only()} pods with a controller owner reference set to itself`,
      ],
      [
        {},
        { ownerReferences: [{ ...owner(), blockOwnerDeletion: true }] },
        `node "${judged.node}" must not set blockOwnerDeletion on an owner reference`,
      ],
      [
        {},
        { ownerReferences: [{ ...owner(), uid: 'other' }] },
        `node ${judged.node} UID mismatch: expected other got ${own.metadata.uid}`,
      ],
    ];
    for (const [spec, metadata, why] of tries) {
      expect(await post(judged.path('pods'), mirror('m', spec, metadata))).toMatchObject(forbidden('pods "m"', why));
    }
  });

  test('of a node refers to no objects', async () => {
    const volume = (source: JsonObject) => ({ volumes: [{ name: 'v', ...source }] });
    const projected = (source: JsonObject) => volume({ projected: { sources: [source] } });
    const tries: readonly [JsonObject, string][] = [
      [volume({ configMap: { name: 'c' } }), 'configmaps'],
      [projected({ configMap: { name: 'c' } }), 'configmaps'],
      [volume({ persistentVolumeClaim: { claimName: 'c' } }), 'persistentvolumeclaims'],
      [volume({ csi: { driver: 'd.test' } }), 'csidrivers (via CSI volumes)'],
      [{ resourceClaims: [{ name: 'c', resourceClaimName: 'c' }] }, 'resourceclaims'],
      [{ containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'c' } }] }] }, 'configmaps'],
    ];
    for (const [spec, resource] of tries) {
      expect(await post(judged.path('pods'), mirror('m', spec))).toMatchObject(
        forbidden('pods "m"', `node "${judged.node}" can not create pods that reference ${resource}`),
      );
    }
    // The reference's ServiceAccount plugin may be the first to refuse these.
    for (const spec of [{ serviceAccountName: 'a' }, volume({ secret: { secretName: 's' } })]) {
      expect(await post(judged.path('pods'), mirror('m', spec))).toMatchObject(
        refused(403, 'Forbidden', /^pods "m" is forbidden: .* reference (serviceaccounts|service accounts|secrets)$/),
      );
    }
  });

  test('of another node is not written, deleted or evicted', async () => {
    await judged.pod('mine');
    await judged.pod('others', { nodeName: 'else' });
    const path = (name: string, sub = '') => pathOf(judged.named(name), sub);
    const status = { status: { message: 'm' } };
    expect((await merge(path('mine', 'status'), status)).code).toBe(200);
    expect(await merge(path('others', 'status'), status)).toMatchObject(
      forbidden(
        'pods "others"',
        `node "${judged.node}" can only update pod status for pods with spec.nodeName set to itself`,
      ),
    );
    expect(await merge(path('mine', 'status'), { metadata: { labels: { a: 'b' } } })).toMatchObject(
      forbidden('pods "mine"', `node "${judged.node}" cannot update labels through pod status`),
    );
    expect(await node.raw('DELETE', path('others'))).toMatchObject(
      forbidden('pods "others"', `node "${judged.node}" can only delete pods with spec.nodeName set to itself`),
    );
    const eviction = (name: string) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });
    expect(await post(path('others', 'eviction'), eviction('others'))).toMatchObject(
      forbidden('pods "others"', `node ${judged.node} can only evict pods with spec.nodeName set to itself`),
    );
    expect(await post(path('none', 'eviction'), eviction('none'))).toMatchObject({ code: 404 });
    expect(await node.raw('GET', judged.path('pods'))).toMatchObject(
      refused(403, 'Forbidden', /: can only list\/watch pods with spec.nodeName field selector$/),
    );
    const fieldSelector = `spec.nodeName=${judged.node}`;
    expect((await node.raw('GET', '/api/v1/pods', { query: { fieldSelector } })).code).toBe(200);
    expect((await node.raw('DELETE', path('mine'))).code).toBe(200);
  });

  test('of another node, or of no node, gets its node no token', async () => {
    const account = { kind: 'ServiceAccount', namespace: judged.namespace, name: 'tokens' };
    await judged.cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account });
    const mine = await judged.pod('mine-too', { serviceAccountName: 'tokens' });
    const others = await judged.pod('others-too', { nodeName: 'else', serviceAccountName: 'tokens' });
    const ask = (boundObjectRef?: JsonObject) =>
      post(pathOf(account, 'token'), {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], ...(boundObjectRef && { boundObjectRef }) },
      });
    const bound = ({ metadata: { name, uid } }: KubeObject) => ({ apiVersion: 'v1', kind: 'Pod', name, uid });
    const what = 'serviceaccounts "tokens"';
    // The node authorizer may learn of the pod a little later.
    for (let tries = 0; (await ask()).body['message'] === undefined && tries < 500; tries++);
    expect(await ask()).toMatchObject(forbidden(what, 'node requested token not bound to a pod'));
    expect(await ask({ ...bound(mine), uid: '' })).toMatchObject(
      forbidden(what, 'node requested token with a pod binding without a uid'),
    );
    expect(await ask({ ...bound(mine), uid: 'other' })).toMatchObject(
      refused(403, 'Forbidden', /the UID in the bound object reference \(other\) does not match the UID in record/),
    );
    expect(await ask(bound(others))).toMatchObject(
      forbidden(what, 'node requested token bound to a pod scheduled on a different node'),
    );
  });
});

test('leases, CSINodes and resource slices are the node’s own', async () => {
  const lease = (name: string) => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });
  const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  await judged.cluster
    .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-node-lease' } })
    .catch(() => {
      // It exists.
    });
  expect((await post(leases('kube-node-lease'), lease(judged.node))).code).toBe(201);
  expect(await post(leases('kube-node-lease'), lease('else'))).toMatchObject(
    forbidden(
      'leases.coordination.k8s.io "else"',
      'can only access node lease with the same name as the requesting node',
    ),
  );
  expect(await post(leases('default'), lease(judged.node))).toMatchObject(
    refused(403, 'Forbidden', /: can only access leases in the "kube-node-lease" system namespace$/),
  );
  expect((await node.raw('DELETE', `${leases('kube-node-lease')}/${judged.node}`)).code).toBe(200);
  const csiNode = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'else' },
    spec: { drivers: [] },
  };
  expect(await post('/apis/storage.k8s.io/v1/csinodes', csiNode)).toMatchObject(
    forbidden('csinodes.storage.k8s.io "else"', 'can only access CSINode with the same name as the requesting node'),
  );
  const slice = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: `${judged.node}-s` },
    spec: { driver: 'd.test', nodeName: 'else', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
  };
  expect(await post('/apis/resource.k8s.io/v1/resourceslices', slice)).toMatchObject(
    forbidden(
      `resourceslices.resource.k8s.io "${judged.node}-s"`,
      'can only create ResourceSlice with the same NodeName as the requesting node',
    ),
  );
});

test('of a node’s claims only the status is its own', async () => {
  const name = { kind: 'PersistentVolumeClaim', namespace: judged.namespace, name: 'claim' };
  await judged.cluster.create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'claim', namespace: judged.namespace },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
  });
  await judged.pod('claims', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }] });
  for (let tries = 0; (await node.raw('GET', pathOf(name))).code === 403 && tries < 500; tries++);
  expect(await merge(pathOf(name, 'status'), { metadata: { labels: { a: 'b' } } })).toMatchObject(
    refused(403, 'Forbidden', /is not allowed to update fields other than status.quantity and status.conditions/),
  );
  expect((await merge(pathOf(name, 'status'), { status: { capacity: { storage: '2Gi' } } })).code).toBe(200);
  await judged.cluster.delete(name);
});

test('a node without a name may do nothing', async () => {
  const nameless = await clientOf('');
  expect(await nameless.raw('GET', '/api/v1/pods', { query: { fieldSelector: 'spec.nodeName=' } })).toMatchObject(
    refused(403, 'Forbidden', /: unknown node for user "system:node:"$/),
  );
});
