import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type JsonObject, pathOf } from '../src/index.ts';
import { JudgedCluster } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: judged.namespace },
  ...more,
});
const named = (kind: string, name: string) => ({ kind, namespace: judged.namespace, name });
const raw = (method: string, path: string, body?: JsonObject) =>
  judged.cluster.raw(method, judged.path(path), body && { body });

describe('a created object', () => {
  test('gets UID, version and creation time', async () => {
    const { metadata } = await judged.cluster.create(configMap('identity', { data: { a: 'b' } }));
    expect(metadata).toMatchObject({ name: 'identity', namespace: judged.namespace });
    expect(metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(metadata.resourceVersion).toMatch(/^\d+$/);
    expect(metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metadata.generation).toBeUndefined();
  });

  test('gets a generated name', async () => {
    const { metadata } = await judged.cluster.create({
      ...configMap(''),
      metadata: { generateName: 'generated-', namespace: judged.namespace },
    });
    expect(metadata.name).toMatch(/^generated-[a-z0-9]{5}$/);
  });

  test.each<[string, (object: JsonObject) => JsonObject, number, string, RegExp]>([
    ['of an existing name', (object) => object, 409, 'AlreadyExists', /^configmaps "taken" already exists$/],
    [
      'with a version',
      (object) => ({ ...object, metadata: { name: 'versioned', resourceVersion: '1' } }),
      500,
      '',
      /resourceVersion should not be set on objects to be created/,
    ],
    [
      'of another namespace',
      (object) => ({ ...object, metadata: { name: 'elsewhere', namespace: 'default' } }),
      400,
      'BadRequest',
      /^the namespace of the provided object does not match the namespace sent on the request$/,
    ],
    [
      'without a name',
      (object) => ({ ...object, metadata: {} }),
      422,
      'Invalid',
      /^ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required$/,
    ],
    [
      'with a bad name',
      (object) => ({ ...object, metadata: { name: 'Bad_Name' } }),
      422,
      'Invalid',
      /^ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of/,
    ],
    [
      'of another kind',
      (object) => ({ ...object, kind: 'Secret', metadata: { name: 'other' } }),
      400,
      'BadRequest',
      /cannot be handled as a ConfigMap/,
    ],
  ])('is refused: %s', async (_what, change, code, reason, message) => {
    await raw('POST', 'configmaps', configMap('taken'));
    const answer = await raw('POST', 'configmaps', change(configMap('taken')));
    expect({ code: answer.code, reason: answer.body['reason'] ?? '' }).toEqual({ code, reason });
    expect(answer.body['message']).toMatch(message);
    expect(answer.body).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code });
  });

  test('needs an existing namespace', async () => {
    const path = '/api/v1/namespaces/not-there/configmaps';
    const body = { ...configMap('a'), metadata: { name: 'a' } };
    const answer = await judged.cluster.raw('POST', path, { body });
    expect(answer.body).toMatchObject({
      code: 404,
      message: 'namespaces "not-there" not found',
      reason: 'NotFound',
      details: { name: 'not-there', kind: 'namespaces' },
    });
  });

  test('is not stored in a dry run', async () => {
    const answer = await judged.cluster.raw('POST', judged.path('configmaps'), {
      query: { dryRun: 'All' },
      body: configMap('dry'),
    });
    expect(answer.code).toBe(201);
    expect(await judged.cluster.get(named('ConfigMap', 'dry'))).toBeUndefined();
  });
});

test('a missing object is not found', async () => {
  expect(await raw('GET', 'pods/none')).toMatchObject({
    code: 404,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'pods "none" not found',
      reason: 'NotFound',
      details: { name: 'none', kind: 'pods' },
      code: 404,
    },
  });
  const lease = await judged.cluster.raw('GET', pathOf(named('Lease', 'none')));
  expect(lease.body).toMatchObject({
    message: 'leases.coordination.k8s.io "none" not found',
    details: { name: 'none', group: 'coordination.k8s.io', kind: 'leases' },
  });
  expect((await judged.cluster.raw('GET', '/api/v1/nothing')).code).toBe(404);
});

describe('an update', () => {
  test('increments the version only on a change', async () => {
    const first = await judged.cluster.create(configMap('update', { data: { a: '1' } }));
    const same = await judged.cluster.update(first);
    expect(same.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const changed = await judged.cluster.update({ ...first, data: { a: '2' } });
    expect(Number(changed.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
  });

  test('of an older version conflicts; without a version it does not', async () => {
    const first = await judged.cluster.create(configMap('conflict', { data: { a: '1' } }));
    await judged.cluster.update({ ...first, data: { a: '2' } });
    const answer = await raw('PUT', 'configmaps/conflict', { ...first, data: { a: '3' } });
    expect(answer.body).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "conflict": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'conflict', kind: 'configmaps' },
    });
    expect((await raw('PUT', 'configmaps/conflict', configMap('conflict', { data: { a: '3' } }))).code).toBe(200);
  });

  test('of another object of that name conflicts', async () => {
    await judged.cluster.create(configMap('uid'));
    const uid = '00000000-0000-0000-0000-000000000000';
    const body = { ...configMap('uid'), metadata: { name: 'uid', namespace: judged.namespace, uid } };
    const answer = await raw('PUT', 'configmaps/uid', body);
    expect(answer.body).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(answer.body['message']).toMatch(
      /^Operation cannot be fulfilled on configmaps "uid": .*Precondition failed: UID in precondition: 0{8}-.*, UID in object meta: /,
    );
  });

  test('of a missing object is refused, except for leases', async () => {
    expect((await raw('PUT', 'configmaps/none', configMap('none'))).code).toBe(404);
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'made', namespace: judged.namespace },
      spec: { holderIdentity: 'me' },
    };
    const path = pathOf(named('Lease', 'made'));
    expect((await judged.cluster.raw('PUT', path, { body: lease })).code).toBe(201);
    const again = await judged.cluster.raw('PUT', path, { body: lease });
    expect(again.body).toMatchObject({
      code: 422,
      message:
        'leases.coordination.k8s.io "made" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    });
  });

  test('under another name is refused', async () => {
    await judged.cluster.create(configMap('rightname'));
    expect((await raw('PUT', 'configmaps/rightname', configMap('othername'))).body).toMatchObject({
      code: 400,
      message: 'the name of the object (othername) does not match the name on the URL (rightname)',
    });
  });
});

describe('a secret', () => {
  test('accepts plain text and returns it encoded', async () => {
    const secret = await judged.cluster.create({
      ...configMap('plain'),
      kind: 'Secret',
      stringData: { a: 'b' },
      data: { c: 'ZA==' },
    });
    expect(secret).toMatchObject({ type: 'Opaque', data: { a: 'Yg==', c: 'ZA==' } });
    expect(secret['stringData']).toBeUndefined();
    const patched = await judged.cluster.patch(named('Secret', 'plain'), { stringData: { a: 'x' } });
    expect(patched.data).toEqual({ a: 'eA==', c: 'ZA==' });
  });

  test('cannot be changed if it is immutable', async () => {
    await judged.cluster.create({ ...configMap('fixed'), kind: 'Secret', immutable: true, data: { c: 'ZA==' } });
    const answer = await judged.patch(judged.path('secrets/fixed'), 'merge', { data: { c: 'ZQ==' } });
    expect(answer.body).toMatchObject({
      code: 422,
      message: 'Secret "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    });
  });
});

test('a service gets its address and defaults, and keeps the address', async () => {
  const service = await judged.cluster.create({
    ...configMap('service'),
    kind: 'Service',
    spec: { selector: { app: 'a' }, ports: [{ port: 80 }] },
  });
  expect(service.spec).toMatchObject({
    type: 'ClusterIP',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ipFamilyPolicy: 'SingleStack',
    ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
  });
  const clusterIP = service.spec?.['clusterIP'];
  expect(clusterIP).toMatch(/^10\.96\./);
  const { clusterIP: _one, clusterIPs: _all, ...spec } = service.spec ?? {};
  const updated = await judged.cluster.update({ ...service, spec: { ...spec, ports: [{ port: 81 }] } });
  expect(updated.spec).toMatchObject({ clusterIP, clusterIPs: [clusterIP], ports: [{ port: 81, targetPort: 81 }] });
});

describe('a deletion', () => {
  test('returns a Status or the object', async () => {
    const { metadata } = await judged.cluster.create(configMap('deleted'));
    const answer = await raw('DELETE', 'configmaps/deleted');
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'deleted', kind: 'configmaps', uid: metadata.uid },
    });
    await judged.cluster.create({ ...configMap('account'), kind: 'ServiceAccount' });
    expect((await raw('DELETE', 'serviceaccounts/account')).body).toMatchObject({ kind: 'ServiceAccount' });
    expect((await raw('DELETE', 'serviceaccounts/account')).code).toBe(404);
  });

  test('with a failed precondition conflicts', async () => {
    const { metadata } = await judged.cluster.create(configMap('kept'));
    const refuse = async (preconditions: JsonObject) =>
      (await raw('DELETE', 'configmaps/kept', { preconditions })).body;
    expect(await refuse({ uid: 'another' })).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: expect.stringMatching(/the UID in the precondition \(another\) does not match the UID in record/),
    });
    expect(await refuse({ resourceVersion: '1' })).toMatchObject({
      code: 409,
      message: expect.stringMatching(/the ResourceVersion in the precondition \(1\) does not match/),
    });
    const answer = await raw('DELETE', 'configmaps/kept', { preconditions: { uid: metadata.uid } });
    expect(answer.code).toBe(200);
  });

  test('waits for finalizers', async () => {
    const metadata = {
      name: 'finalized',
      namespace: judged.namespace,
      finalizers: ['example.test/a', 'example.test/b'],
    };
    await judged.cluster.create(configMap('finalized', { metadata }));
    await raw('DELETE', 'configmaps/finalized');
    const name = named('ConfigMap', 'finalized');
    const deleting = await judged.cluster.get(name);
    expect(deleting?.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(deleting?.metadata.deletionGracePeriodSeconds).toBe(0);
    const watch = await judged.cluster.watch(judged.path('configmaps'), {
      resourceVersion: deleting?.metadata.resourceVersion ?? '',
      fieldSelector: 'metadata.name=finalized',
    });
    const one = await judged.cluster.patch(name, { metadata: { finalizers: ['example.test/b'] } });
    expect(one.metadata.finalizers).toEqual(['example.test/b']);
    await judged.cluster.patch(name, { metadata: { finalizers: null } });
    expect([await watch.next(), await watch.next()]).toMatchObject([
      { type: 'MODIFIED' },
      { type: 'DELETED', object: { metadata: { finalizers: ['example.test/b'] } } },
    ]);
    watch.close();
    expect(await judged.cluster.get(name)).toBeUndefined();
  });

  test('of a collection deletes the selected objects', async () => {
    for (const [name, app] of [
      ['many-a', 'x'],
      ['many-b', 'x'],
      ['many-c', 'y'],
    ]) {
      const metadata = { name, namespace: judged.namespace, labels: { app } };
      await judged.cluster.create(configMap('', { metadata }));
    }
    await judged.cluster.raw('DELETE', judged.path('configmaps'), { query: { labelSelector: 'app=x' } });
    const left = (await judged.cluster.list('ConfigMap', judged.namespace)).map(({ metadata }) => metadata.name);
    expect(left.filter((name) => name.startsWith('many-'))).toEqual(['many-c']);
  });
});
