import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type JsonObject, asList, asObject, asText } from '@kubus/kube-objects';
import { decodeObject, encodeObject } from '@kubus/kube-schema';
import { JudgedCluster, refused } from './judged-cluster.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: judged.namespace } },
  ...{ data: { a: '1' }, ...more },
});
const accept = (type: string) => ({ headers: { accept: type } });

describe('protobuf', () => {
  test('an object is made and read in it, and is the same in JSON', async () => {
    const body = encodeObject(configMap('made')) ?? new Uint8Array();
    const made = await judged.cluster.raw('POST', judged.path('configmaps'), {
      ...{ body, contentType: PROTOBUF },
      ...accept(`${PROTOBUF},application/json`),
    });
    expect(made).toMatchObject({ code: 201, headers: { 'content-type': PROTOBUF } });
    const { body: read } = await judged.send('GET', 'configmaps/made');
    expect(read).toMatchObject({ data: { a: '1' } });
    expect(decodeObject(made.bytes)).toEqual(read);
    const again = await judged.cluster.raw('GET', judged.path('configmaps/made'), accept(PROTOBUF));
    expect(Buffer.from(encodeObject(read) ?? []).equals(again.bytes)).toBe(true);
  });

  test('a list, its watch and a refusal come in it', async () => {
    await judged.send('POST', 'configmaps', configMap('listed'));
    const path = judged.path('configmaps');
    const query = { fieldSelector: 'metadata.name=listed' };
    const list = await judged.cluster.raw('GET', path, { query, ...accept(PROTOBUF) });
    const decoded = decodeObject(list.bytes);
    expect(decoded).toMatchObject({ kind: 'ConfigMapList', items: [{ metadata: { name: 'listed' } }] });
    const watch = { ...query, watch: 'true', timeoutSeconds: '1', resourceVersion: '0' };
    const seen = await judged.cluster.raw('GET', path, { query: watch, ...accept(PROTOBUF) });
    expect(seen.headers['content-type']).toBe(`${PROTOBUF};stream=watch`);
    const [item] = asList(decoded['items']);
    const object = encodeObject({ apiVersion: 'v1', kind: 'ConfigMap', ...asObject(item) }) ?? new Uint8Array();
    const frame = Buffer.from(seen.bytes);
    expect(frame.readUInt32BE()).toBe(frame.length - 4);
    expect(frame.includes(Buffer.from(object))).toBe(true);
    const missing = await judged.cluster.raw('GET', judged.path('configmaps/none'), accept(PROTOBUF));
    expect(missing.code).toBe(404);
    expect(decodeObject(missing.bytes)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
  });

  test('what is no protobuf, and other encodings, are refused', async () => {
    const send = async (contentType: string) =>
      judged.cluster.raw('POST', judged.path('configmaps'), { body: Uint8Array.of(1, 2, 3), contentType });
    expect(await send(PROTOBUF)).toMatchObject(refused(400, 'BadRequest', /does not appear to be a protobuf message/));
    expect(await send('application/cbor')).toMatchObject(
      refused(415, 'UnsupportedMediaType', /unknown format - accepted media types include: application\/json/),
    );
    expect(await judged.cluster.raw('GET', judged.path('configmaps'), accept('application/cbor'))).toMatchObject(
      refused(406, 'NotAcceptable', /^406: Not Acceptable\n\nAvailable representations: application\/json, /),
    );
  });
});

describe('unknown fields', () => {
  const create = async (name: string, fieldValidation: string) =>
    judged.cluster.raw('POST', judged.path('configmaps'), {
      body: configMap(name, { dataa: {}, immutable: false }),
      query: { fieldValidation },
    });

  test('are refused, reported or dropped, as the request wants', async () => {
    expect(await create('strict', 'Strict')).toMatchObject(
      refused(
        400,
        'BadRequest',
        /^ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dataa"$/,
      ),
    );
    const warned = await create('warned', 'Warn');
    expect(warned).toMatchObject({ code: 201, headers: { warning: '299 - "unknown field \\"dataa\\""' } });
    expect(warned.body).not.toHaveProperty('dataa');
    const ignored = await create('ignored', 'Ignore');
    expect(ignored.headers['warning']).toBeUndefined();
    expect(ignored.body).not.toHaveProperty('dataa');
    expect(await create('other', 'Sometimes')).toMatchObject(
      refused(422, 'Invalid', /fieldValidation: Unsupported value: "Sometimes": supported values: .*"Strict", "Warn"/),
    );
  });

  test('of a patch, too', async () => {
    await judged.send('POST', 'configmaps', configMap('patched'));
    const patch = async (kind: string, query: Readonly<Record<string, string>>) =>
      judged.cluster.raw('PATCH', judged.path('configmaps/patched'), {
        ...{ body: { ...configMap('patched'), dataa: 'x' }, contentType: `application/${kind}`, query },
      });
    const strict = await patch('merge-patch+json', { fieldValidation: 'Strict' });
    expect(strict).toMatchObject(
      refused(422, 'Invalid', /patch: Invalid value: .*: strict decoding error: unknown field "dataa"$/),
    );
    const warned = await patch('merge-patch+json', {});
    expect(warned).toMatchObject({ code: 200, headers: { warning: '299 - "unknown field \\"dataa\\""' } });
    const message = /^failed to create typed patch object \(.*; \/v1, Kind=ConfigMap\): \.dataa: field not declared/;
    const applied = await patch('apply-patch+yaml', { fieldManager: 'one', force: 'true' });
    expect(applied).toMatchObject({ code: 500, body: { message: expect.stringMatching(message) } });
  });
});

describe('what the server says of itself', () => {
  test('OpenAPI documents, by group with a hash', async () => {
    // Its media type is that of plain text in the reference.
    const { bytes } = await judged.cluster.raw('GET', '/openapi/v3');
    const body = JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
    const { serverRelativeURL } = asObject(asObject(body['paths'])['api/v1']);
    expect(serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]+$/);
    const document = await judged.cluster.raw('GET', asText(serverRelativeURL));
    const schemas = asObject(asObject(document.body['components'])['schemas']);
    expect(asObject(asObject(schemas['io.k8s.api.core.v1.Pod'])['properties'])).toHaveProperty('spec');
    const v2 = await judged.cluster.raw('GET', '/openapi/v2');
    expect(asObject(v2.body['definitions'])).toHaveProperty(['io.k8s.api.core.v1.Container', 'properties', 'image']);
  });

  test.each(['spec.v2@v1.0', 'spec.v2.v1.0'])(
    'OpenAPI 2 in protobuf (%s), as kubectl before 1.27 wants it',
    async (name) => {
      const type = `application/com.github.proto-openapi.${name}+protobuf`;
      const { code, bytes, headers } = await judged.cluster.raw('GET', '/openapi/v2', accept(type));
      expect(code).toBe(200);
      expect(headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
      // Field 1, swagger; then field 2, info.
      const content = Buffer.from(bytes);
      expect(content.subarray(0, 6).toString()).toBe('\n\x032.0\x12');
      expect(content.includes('\x0a\x1cio.k8s.api.core.v1.Container\x12')).toBe(true);
      const json = await judged.cluster.raw('GET', '/openapi/v2', accept(`application/json,${type}`));
      expect(json.body).toMatchObject({ swagger: '2.0' });
    },
  );

  test('aggregated discovery, where a client prefers it', async () => {
    const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const read = async (path: string) => judged.cluster.raw('GET', path, accept(`${type},application/json`));
    const core = await read('/api');
    expect(core.headers['content-type']).toBe(type);
    const [group] = asList(core.body['items']).map(asObject);
    const [version] = asList(group?.['versions']).map(asObject);
    expect(version).toMatchObject({ version: 'v1', freshness: 'Current' });
    const pods = asList(version?.['resources'])
      .map(asObject)
      .find(({ resource }) => resource === 'pods');
    expect(pods).toMatchObject({
      ...{ responseKind: { group: '', version: '', kind: 'Pod' }, scope: 'Namespaced', singularResource: 'pod' },
      ...{ shortNames: ['po'], verbs: expect.arrayContaining(['watch']) },
      subresources: expect.arrayContaining([
        expect.objectContaining({
          subresource: 'eviction',
          responseKind: { group: 'policy', version: 'v1', kind: 'Eviction' },
        }),
      ]),
    });
    const others = await read('/apis');
    const names = asList(others.body['items']).map((one) => asObject(asObject(one)['metadata'])['name']);
    expect(names).toContain('coordination.k8s.io');
    const plain = await judged.cluster.raw('GET', '/api', accept('application/json'));
    expect(plain.body).toMatchObject({ kind: 'APIVersions' });
  });
});
