// A real server needs the admission plugin ServiceAccount, and the controllers of service accounts and of the root authority.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList, asObject, asText, at } from '@kubus/kube-objects';
import { Cluster, type Json, type JsonObject, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

const PATH = '/var/run/secrets/kubernetes.io/serviceaccount';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open({ serviceAccounts: true });
});
afterAll(() => judged.close());

const named = (name: string) => ({ kind: 'ServiceAccount', namespace: judged.namespace, name });
const account = (name: string, fields: JsonObject = {}) =>
  judged.cluster.create({
    ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
    metadata: { name, namespace: judged.namespace },
    ...fields,
  });
const mountsOf = (pod: JsonObject, list = 'containers') =>
  asList(at(pod, 'spec', list)).map((container) => at(container, 'volumeMounts'));

describe('a pod without a service account', () => {
  test('gets the one of its namespace and its token, as soon as the namespace is made', async () => {
    const namespace = `${judged.namespace}-new`;
    const { cluster } = judged;
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const { spec = {} } = await cluster.create(
      judged.podObject('p', { initContainers: [{ name: 'i', image: 'i' }] }, { namespace }),
    );
    expect(spec).toMatchObject({ serviceAccountName: 'default', serviceAccount: 'default' });
    const [volume] = asList(spec['volumes']);
    const name = asText(at(volume, 'name'));
    expect(name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(asObject(volume)['projected']).toEqual({
      defaultMode: 420,
      sources: expect.arrayContaining([
        { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ]),
    });
    const mounted = [[{ name, readOnly: true, mountPath: PATH }]];
    expect([mountsOf({ spec }), mountsOf({ spec }, 'initContainers')]).toEqual([mounted, mounted]);
    await cluster.delete({ kind: 'Namespace', name: namespace });
  });

  test('and with something at the token’s path keeps that', async () => {
    const mount = { name: 'mine', mountPath: PATH };
    const { spec = {} } = await judged.pod('keeps', {
      containers: [{ name: 'c', image: 'i', volumeMounts: [mount] }],
      volumes: [{ name: 'mine', emptyDir: {} }],
    });
    expect(mountsOf({ spec })).toEqual([[mount]]);
    expect(asList(spec['volumes'])).toHaveLength(1);
  });
});

test('a pod whose service account does not exist is refused', async () => {
  const refusedPod = async (metadata: JsonObject, spec: JsonObject = { serviceAccountName: 'none' }) =>
    judged.send('POST', 'pods', judged.podObject('bad', spec, metadata));
  const why = `error looking up service account ${judged.namespace}/none: serviceaccount "none" not found`;
  expect(await refusedPod({})).toMatchObject(
    refused(403, 'Forbidden', new RegExp(`^pods "bad" is forbidden: ${why}$`)),
  );
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'h' } };
  expect(await refusedPod(mirror)).toMatchObject(
    refused(403, 'Forbidden', /^pods "bad" is forbidden: a mirror pod may not reference service accounts$/),
  );
  expect(await refusedPod(mirror, { imagePullSecrets: [{ name: 's' }] })).toMatchObject(
    refused(403, 'Forbidden', /^pods "bad" is forbidden: a mirror pod may not reference secrets$/),
  );
  const sources = [{ serviceAccountToken: { path: 'token' } }];
  expect(await refusedPod(mirror, { volumes: [{ name: 'v', projected: { sources } }] })).toMatchObject(
    refused(403, 'Forbidden', /: a mirror pod may not use ServiceAccountToken volume projections$/),
  );
});

test('the pod says whether it gets a token, before its account; secrets for images come from the account', async () => {
  await account('quiet', { automountServiceAccountToken: false, imagePullSecrets: [{ name: 'pull' }] });
  const serviceAccountName = 'quiet';
  const quiet = await judged.pod('quiet', { serviceAccountName });
  expect(quiet.spec).toMatchObject({ serviceAccountName, imagePullSecrets: [{ name: 'pull' }] });
  expect(quiet.spec).not.toHaveProperty('volumes');
  const loud = await judged.pod('loud', { serviceAccountName, automountServiceAccountToken: true });
  expect(mountsOf(loud)).toEqual([[expect.objectContaining({ mountPath: PATH })]]);
  const own = await judged.pod('own', { serviceAccountName, imagePullSecrets: [{ name: 'other' }] });
  expect(own.spec).toMatchObject({ imagePullSecrets: [{ name: 'other' }] });
  const none = await judged.pod('none', { automountServiceAccountToken: false });
  expect(none.spec).not.toHaveProperty('volumes');
});

test('an account to which nothing is granted may ask who it is and what there is, and no more', async () => {
  await account('nobody');
  const { body } = await judged.cluster.raw('POST', pathOf(named('nobody'), 'token'), {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const token = asText(at(body, 'status', 'token'));
  const nobody = Cluster.fromText(await judged.cluster.kubeconfigText({ token }));
  const username = `system:serviceaccount:${judged.namespace}:nobody`;
  expect(await nobody.raw('GET', judged.path('pods'))).toMatchObject(
    refused(
      403,
      'Forbidden',
      new RegExp(
        `^pods is forbidden: User "${username}" cannot list resource "pods" in API group "" in the namespace "${judged.namespace}"$`,
      ),
    ),
  );
  for (const path of ['/api', '/apis', '/api/v1', '/version', '/openapi/v3', '/readyz', '/healthz']) {
    expect({ path, code: (await nobody.raw('GET', path)).code }).toEqual({ path, code: 200 });
  }
  expect(await nobody.raw('GET', '/metrics')).toMatchObject(
    refused(403, 'Forbidden', new RegExp(`^forbidden: User "${username}" cannot get path "/metrics"$`)),
  );
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const who = await nobody.raw('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: review });
  const groups: Json = ['system:serviceaccounts', `system:serviceaccounts:${judged.namespace}`, 'system:authenticated'];
  expect(who).toMatchObject({ code: 201, body: { status: { userInfo: { username, groups } } } });
});
