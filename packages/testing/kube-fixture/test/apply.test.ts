import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asObject } from '@kubus/kube-objects';
import type { JsonObject, RawAnswer } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const configMap = (name: string, data: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: judged.namespace },
  data,
});

async function send(rest: string, body: JsonObject, query: Readonly<Record<string, string>>): Promise<RawAnswer> {
  const contentType = 'application/apply-patch+yaml';
  return judged.cluster.raw('PATCH', judged.path(rest), { body, contentType, query });
}

const apply = (name: string, data: JsonObject, fieldManager: string, query: Readonly<Record<string, string>> = {}) =>
  send(`configmaps/${name}`, configMap(name, data), { fieldManager, ...query });

const managersOf = ({ body }: Pick<RawAnswer, 'body'>) => asObject(body['metadata'])['managedFields'];
const versionOf = ({ body }: RawAnswer) => asObject(body['metadata'])['resourceVersion'];
const entry = (manager: string, operation: string, fieldsV1: JsonObject, more: JsonObject = {}): object => ({
  manager,
  operation,
  apiVersion: 'v1',
  time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});
const data = (...names: readonly string[]): JsonObject => ({
  'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

describe('server-side apply', () => {
  test('makes an object that is not there, and takes away what it no longer applies', async () => {
    const made = await apply('made', { a: '1', b: '1' }, 'one');
    expect(made).toMatchObject({ code: 201, body: { kind: 'ConfigMap', data: { a: '1', b: '1' } } });
    expect(managersOf(made)).toEqual([entry('one', 'Apply', data('a', 'b'))]);
    const changed = await apply('made', { a: '2' }, 'one');
    expect(changed).toMatchObject({ code: 200, body: { data: { a: '2' } } });
    expect(changed.body['data']).toEqual({ a: '2' });
    expect(managersOf(changed)).toEqual([entry('one', 'Apply', data('a'))]);
  });

  test('that changes nothing is no change', async () => {
    const made = await apply('same', { a: '1' }, 'one');
    const again = await apply('same', { a: '1' }, 'one');
    expect(again.code).toBe(200);
    expect(versionOf(again)).toBe(versionOf(made));
  });

  test('leaves alone what others have, conflicts about it, and takes it with force', async () => {
    await judged.cluster.raw('POST', judged.path('configmaps'), {
      body: configMap('shared', { a: '1', b: '1' }),
      query: { fieldManager: 'maker' },
    });
    const conflict = await apply('shared', { a: '2', c: '2' }, 'one');
    expect(conflict).toMatchObject({
      code: 409,
      body: {
        kind: 'Status',
        status: 'Failure',
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "maker" using v1: .data.a',
        code: 409,
      },
    });
    expect(conflict.body['details']).toEqual({
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "maker" using v1', field: '.data.a' }],
    });
    const taken = await apply('shared', { a: '2', c: '2' }, 'one', { force: 'true' });
    expect(taken.body['data']).toEqual({ a: '2', b: '1', c: '2' });
    expect(managersOf(taken)).toEqual([
      entry('one', 'Apply', data('a', 'c')),
      entry('maker', 'Update', { 'f:data': { '.': {}, 'f:b': {} } }),
    ]);
  });

  test('in a dry run stores nothing', async () => {
    expect((await apply('dry', { a: '1' }, 'one', { dryRun: 'All' })).code).toBe(201);
    expect((await judged.send('GET', 'configmaps/dry')).code).toBe(404);
  });

  test('of a pod has the defaults set, which are not its own', async () => {
    const pod = judged.podObject('applied');
    const made = await send('pods/applied', pod, { fieldManager: 'one' });
    expect(made).toMatchObject({
      code: 201,
      body: { spec: { restartPolicy: 'Always' }, status: { phase: 'Pending' } },
    });
    const containers = { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, 'f:image': {} } };
    const own = entry('one', 'Apply', { 'f:spec': { 'f:containers': containers, 'f:nodeName': {} } });
    expect(managersOf(made)).toEqual([own]);
    const again = await send('pods/applied', pod, { fieldManager: 'one' });
    expect(versionOf(again)).toBe(versionOf(made));
  });

  test.each<[string, number, string, RegExp, (name: string) => Promise<RawAnswer>]>([
    [
      'without a manager',
      422,
      'Invalid',
      /^PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch$/,
      async (name) => send(`configmaps/${name}`, configMap(name, {}), {}),
    ],
    [
      'of a manager with a long name',
      422,
      'Invalid',
      /^PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes$/,
      async (name) => apply(name, {}, 'x'.repeat(129)),
    ],
    [
      'of a manager with a line break in its name',
      422,
      'Invalid',
      /fieldManager: Invalid value: "a\\nb": invalid character U\+000A \(at position 1\)$/,
      async (name) => apply(name, {}, 'a\nb'),
    ],
    [
      'of another kind',
      400,
      'BadRequest',
      /^invalid object type: \/v1, Kind=Secret$/,
      async (name) => send(`configmaps/${name}`, { ...configMap(name, {}), kind: 'Secret' }, { fieldManager: 'one' }),
    ],
    [
      'with managers',
      400,
      'BadRequest',
      /^metadata.managedFields must be nil$/,
      async (name) =>
        send(
          `configmaps/${name}`,
          { ...configMap(name, {}), metadata: { name, managedFields: [] } },
          { fieldManager: 'one' },
        ),
    ],
    [
      'with a field of another type',
      500,
      '',
      /^failed to create typed patch object \(.*; \/v1, Kind=Pod\): .*/,
      async (name) =>
        send(`pods/${name}`, judged.podObject(name, { containers: [{ image: 'a' }, null] }), { fieldManager: 'one' }),
    ],
    [
      'of an object with a UID that is not there',
      409,
      'Conflict',
      /uid mismatch: the provided object specified uid u, and no existing object was found$/,
      async (name) =>
        send(`configmaps/${name}`, { ...configMap(name, {}), metadata: { name, uid: 'u' } }, { fieldManager: 'one' }),
    ],
    [
      'of the status of an object that is not there',
      404,
      'NotFound',
      /^pods ".*" not found$/,
      async (name) => send(`pods/${name}/status`, judged.podObject(name), { fieldManager: 'one' }),
    ],
  ])('is refused %s', async (what, code, reason, message, request) => {
    const name = what.replaceAll(' ', '-').toLowerCase();
    const answer = await request(name);
    expect({ ...answer, body: { ...answer.body, reason: answer.body['reason'] ?? '' } }).toMatchObject(
      refused(code, reason, message),
    );
  });
});

describe('the managers of an object', () => {
  test('are those that wrote it, by their parameter or user agent', async () => {
    await judged.cluster.raw('POST', judged.path('configmaps'), {
      body: configMap('written', { a: '1', b: '1' }),
      headers: { 'user-agent': 'kubectl/v1.36.2 (linux/amd64)' },
    });
    const answer = await judged.cluster.raw('PATCH', judged.path('configmaps/written'), {
      body: { data: { b: '2' } },
      contentType: 'application/merge-patch+json',
      query: { fieldManager: 'patcher' },
    });
    expect(managersOf(answer)).toEqual([
      entry('kubectl', 'Update', { 'f:data': { '.': {}, 'f:a': {} } }),
      entry('patcher', 'Update', data('b')),
    ]);
  });

  test('of a new pod have its defaults, not what admission adds; who writes its status has that', async () => {
    await judged.cluster.raw('POST', judged.path('pods'), {
      body: judged.podObject('managed'),
      query: { fieldManager: 'maker' },
    });
    const answer = await judged.cluster.raw('PATCH', judged.path('pods/managed/status'), {
      body: {
        status: { podIP: '10.1.2.3', podIPs: [{ ip: '10.1.2.3' }], conditions: [{ type: 'Ready', status: 'True' }] },
      },
      contentType: 'application/strategic-merge-patch+json',
      query: { fieldManager: 'node' },
    });
    const container = [
      ...['f:image', 'f:imagePullPolicy', 'f:name', 'f:resources'],
      ...['f:terminationMessagePath', 'f:terminationMessagePolicy'],
    ];
    const spec = [
      ...['f:dnsPolicy', 'f:enableServiceLinks', 'f:nodeName', 'f:restartPolicy', 'f:schedulerName'],
      ...['f:securityContext', 'f:terminationGracePeriodSeconds'],
    ];
    const fields = (names: readonly string[]): JsonObject => Object.fromEntries(names.map((name) => [name, {}]));
    const made = { 'f:containers': { 'k:{"name":"c"}': { '.': {}, ...fields(container) } }, ...fields(spec) };
    const ready = { '.': {}, 'f:lastProbeTime': {}, 'f:lastTransitionTime': {}, 'f:type': {}, 'f:status': {} };
    const ips = { '.': {}, 'k:{"ip":"10.1.2.3"}': { '.': {}, 'f:ip': {} } };
    expect(managersOf(answer)).toEqual([
      entry('maker', 'Update', { 'f:spec': made }),
      entry(
        'node',
        'Update',
        { 'f:status': { 'f:conditions': { '.': {}, 'k:{"type":"Ready"}': ready }, 'f:podIP': {}, 'f:podIPs': ips } },
        { subresource: 'status' },
      ),
    ]);
  });
});
