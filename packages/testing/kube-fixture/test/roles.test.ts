import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList, asText, at } from '@kubus/kube-objects';
import { Cluster, type JsonObject, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

const GROUP = 'rbac.authorization.k8s.io';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open({ serviceAccounts: true });
});
afterAll(() => judged.close());

const create = (kind: string, name: string, fields: JsonObject = {}) =>
  judged.cluster.raw('POST', pathOf({ kind, namespace: judged.namespace, name: '' }), {
    body: { apiVersion: `${GROUP}/v1`, kind, metadata: { name }, ...fields },
  });
const bind = (name: string, kind: 'Role' | 'ClusterRole', role: string, account = name) =>
  create('RoleBinding', name, {
    roleRef: { apiGroup: GROUP, kind, name: role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: judged.namespace }],
  });

/** A client with the token of a new service account. */
async function accountNamed(name: string): Promise<Cluster> {
  const { cluster, namespace } = judged;
  await cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } });
  const { body } = await cluster.raw('POST', pathOf({ kind: 'ServiceAccount', namespace, name }, 'token'), {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return Cluster.fromText(await cluster.kubeconfigText({ token: asText(at(body, 'status', 'token')) }));
}

/** The server may learn of roles a little later. */
async function may(client: Cluster, path: string): Promise<void> {
  for (let tries = 0; (await client.raw('GET', path)).code === 403 && tries < 500; tries++);
  expect((await client.raw('GET', path)).code).toBe(200);
}

describe('a service account', () => {
  test('may do what a role in its namespace says, until the binding goes', async () => {
    await judged.pod('mine', { automountServiceAccountToken: false });
    const client = await accountNamed('reader');
    const pods = judged.path('pods');
    expect((await client.raw('GET', pods)).code).toBe(403);
    const rules = [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods', 'pods/log'] },
      { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'] },
    ];
    const role = await create('Role', 'reader', { rules });
    expect(role).toMatchObject({ code: 201, body: { apiVersion: `${GROUP}/v1`, kind: 'Role', rules } });
    await bind('reader', 'Role', 'reader');
    await may(client, pods);
    const { body } = await client.raw('GET', pods);
    expect(asList(body['items']).map((pod) => at(pod, 'metadata', 'name'))).toEqual(['mine']);
    expect((await client.raw('GET', judged.path('configmaps/one'))).code).toBe(404);
    for (const path of ['configmaps/two', 'configmaps', 'secrets']) {
      expect((await client.raw('GET', judged.path(path))).code).toBe(403);
    }
    expect((await client.raw('GET', '/api/v1/namespaces/default/pods')).code).toBe(403);
    expect((await client.raw('DELETE', judged.path('pods/mine'))).code).toBe(403);
    await judged.cluster.delete({ kind: 'RoleBinding', namespace: judged.namespace, name: 'reader' });
    for (let tries = 0; (await client.raw('GET', pods)).code === 200 && tries < 500; tries++);
    expect((await client.raw('GET', pods)).code).toBe(403);
  });

  test('may have a role that every cluster has', async () => {
    const client = await accountNamed('viewer');
    await bind('viewer', 'ClusterRole', 'view');
    await may(client, judged.path('configmaps'));
    expect((await client.raw('GET', judged.path('secrets'))).code).toBe(403);
    const post = await client.raw('POST', judged.path('configmaps'), {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } },
    });
    expect(post.code).toBe(403);
  });

  test('cannot grant itself more than it has', async () => {
    const client = await accountNamed('climber');
    const rules = [{ verbs: ['*'], apiGroups: [GROUP], resources: ['roles', 'rolebindings'] }];
    await create('Role', 'climber', { rules });
    await bind('climber', 'Role', 'climber');
    await may(client, pathOf({ kind: 'RoleBinding', namespace: judged.namespace, name: '' }));
    const body = {
      ...{ apiVersion: `${GROUP}/v1`, kind: 'RoleBinding', metadata: { name: 'up' } },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'climber', namespace: judged.namespace }],
    };
    const made = await client.raw('POST', pathOf({ kind: 'RoleBinding', namespace: judged.namespace, name: '' }), {
      body,
    });
    expect(made.code).toBe(403);
  });
});

test('what is no role is refused by field', async () => {
  const ref = { apiGroup: GROUP, kind: 'Role', name: 'r' };
  const tries: readonly [string, JsonObject, RegExp][] = [
    [
      'Role',
      { rules: [{ verbs: [], apiGroups: [''], resources: ['pods'] }] },
      /rules\[0\].verbs: Required value: verbs must/,
    ],
    [
      'Role',
      { rules: [{ verbs: ['get'], resources: ['pods'] }] },
      /rules\[0\].apiGroups: Required value: resource rules must/,
    ],
    [
      'Role',
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
      /namespaced rules cannot apply to non-resource URLs/,
    ],
    [
      'RoleBinding',
      { roleRef: { ...ref, kind: 'X' } },
      /roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"/,
    ],
    ['RoleBinding', { roleRef: { ...ref, name: '' } }, /roleRef.name: Required value/],
    [
      'ClusterRoleBinding',
      { roleRef: ref },
      /roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"/,
    ],
    [
      'RoleBinding',
      { roleRef: ref, subjects: [{ kind: 'X', name: 'x' }] },
      /subjects\[0\].kind: Unsupported value: "X"/,
    ],
  ];
  for (const [kind, fields, why] of tries) {
    expect(await create(kind, 'bad', fields)).toMatchObject(refused(422, 'Invalid', why));
  }
  await bind('fixed', 'Role', 'r');
  const path = pathOf({ kind: 'RoleBinding', namespace: judged.namespace, name: 'fixed' });
  expect(await judged.patch(path, 'merge', { roleRef: { name: 'other' } })).toMatchObject(
    refused(422, 'Invalid', /roleRef: Invalid value: .*: cannot change roleRef/),
  );
});
