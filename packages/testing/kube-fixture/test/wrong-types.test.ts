import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asText, type Json, type JsonObject } from '@kubus/kube-objects';
import { JudgedCluster } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
  await judged.send('POST', 'configmaps', configMap({ data: { a: '1' } }));
  await judged.pod('p');
});
afterAll(() => judged.close());

const configMap = (fields: JsonObject): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: judged.namespace } },
  ...fields,
});
const pod = (spec: JsonObject): JsonObject => ({ ...judged.podObject('p', spec) });
const container = (fields: JsonObject): JsonObject => pod({ containers: [{ name: 'c', image: 'i', ...fields }] });
const dry = { query: { dryRun: 'All' } };
const QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** The end of a refusal, from these words on. */
const refusal = async (method: string, path: string, body: Json, contentType = 'application/json') => {
  const query = contentType.includes('apply') ? { ...dry.query, fieldManager: 'm', force: 'true' } : dry.query;
  const answer = await judged.cluster.raw(method, judged.path(path), { body, contentType, query });
  return { code: answer.code, message: asText(answer.body['message']) };
};

describe('an object with a value of another type is refused in words of Go', () => {
  test.each<[string, string, () => JsonObject]>([
    ['bool into Go struct field ConfigMap.data of type string', 'configmaps', () => configMap({ data: { a: true } })],
    [
      'array into Go struct field ConfigMap.data of type map[string]string',
      'configmaps',
      () => configMap({ data: [] }),
    ],
    [
      'number into Go struct field ObjectMeta.metadata.uid of type types.UID',
      'configmaps',
      () => configMap({ metadata: { name: 'x', uid: 3 } }),
    ],
    [
      'number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
      'configmaps',
      () => configMap({ metadata: { name: 'x', creationTimestamp: 3 } }),
    ],
    [
      'object into Go struct field PodSpec.spec.containers of type []v1.Container',
      'pods',
      () => pod({ containers: {} }),
    ],
    [
      'bool into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy',
      'pods',
      () => pod({ restartPolicy: true }),
    ],
    [
      'number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
      'pods',
      () => pod({ terminationGracePeriodSeconds: 1.5 }),
    ],
    [
      'number 3000000000 into Go struct field PodSpec.spec.priority of type int32',
      'pods',
      () => pod({ priority: 3e9 }),
    ],
    [
      'string into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource',
      'pods',
      () => pod({ volumes: [{ name: 'v', emptyDir: 'x' }] }),
    ],
    [
      'number into Go struct field Container.spec.containers.command of type string',
      'pods',
      () => container({ command: [1] }),
    ],
    [
      'number into Go struct field Capabilities.spec.containers.securityContext.capabilities.add of type v1.Capability',
      'pods',
      () => container({ securityContext: { capabilities: { add: [1] } } }),
    ],
    [
      'bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32',
      'pods',
      () => container({ livenessProbe: { httpGet: { port: true } } }),
    ],
    [
      'number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol',
      'pods',
      () => container({ ports: [{ containerPort: 1, protocol: 1 }] }),
    ],
    [
      'number into Go struct field ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList',
      'pods',
      () => container({ resources: { requests: 3 } }),
    ],
  ])('%s', async (words, path, body) => {
    const object = body();
    const kind = asText(object['kind']);
    expect(await refusal('POST', path, object)).toEqual({
      code: 400,
      message: `${kind} in version "v1" cannot be handled as a ${kind}: json: cannot unmarshal ${words}`,
    });
  });

  test.each<[string, string, () => JsonObject]>([
    ['illegal base64 data at input byte 0', 'configmaps', () => configMap({ binaryData: { a: 'YWJ' } })],
    ['illegal base64 data at input byte 3', 'configmaps', () => configMap({ binaryData: { a: 'not base64!' } })],
    [QUANTITY, 'pods', () => container({ resources: { requests: { cpu: 'abc' } } })],
    [QUANTITY, 'pods', () => pod({ priority: 'before', volumes: [{ name: 'v', emptyDir: { sizeLimit: true } }] })],
    [
      'parsing time "no" as "2006-01-02T15:04:05Z07:00": cannot parse "no" as "2006"',
      'configmaps',
      () => configMap({ metadata: { name: 'x', creationTimestamp: 'no' } }),
    ],
  ])('%s', async (words, path, body) => {
    const object = body();
    const kind = asText(object['kind']);
    expect(await refusal('POST', path, object)).toEqual({
      code: 400,
      message: `${kind} in version "v1" cannot be handled as a ${kind}: ${words}`,
    });
  });

  test('and null, of any type, is none', async () => {
    const body = pod({ restartPolicy: null, nodeSelector: null, volumes: null, priority: null });
    expect(await refusal('POST', 'pods', { ...body, metadata: { name: 'q' } })).toMatchObject({ code: 201 });
  });

  test('and an update, and options of a deletion', async () => {
    expect(await refusal('PUT', 'configmaps/x', configMap({ immutable: 'yes' }))).toEqual({
      code: 400,
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool',
    });
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 'x' };
    expect(await refusal('DELETE', 'configmaps/x', options)).toEqual({
      code: 400,
      message: 'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    });
  });

  test('and what does not say its kind', async () => {
    const before =
      "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
    expect(await refusal('POST', 'configmaps', [])).toMatchObject({
      code: 400,
      message: expect.stringContaining(before),
    });
    expect(await refusal('POST', 'configmaps', { kind: 3, apiVersion: 'v1', data: { a: 'long' } })).toEqual({
      code: 400,
      message: `${before}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":3,"apiVersion":"v1","d ...)`,
    });
  });
});

describe('a patch that sets a value of another type is refused', () => {
  const json = async (patch: Json) => refusal('PATCH', 'configmaps/x', patch, 'application/json-patch+json');

  test('a merge patch and a JSON patch, with the object that they leave', async () => {
    const merge = await refusal('PATCH', 'configmaps/x', { data: { a: true } }, 'application/merge-patch+json');
    const patched = await json([{ op: 'replace', path: '/data/a', value: true }]);
    for (const { code, message } of [merge, patched]) {
      expect(code).toBe(422);
      expect(message).toMatch(
        /^ "" is invalid: patch: Invalid value: "\{.*\\"a\\":true.*\}": json: cannot unmarshal bool into Go struct field ConfigMap.data of type string$/,
      );
    }
  });

  test.each<[Json, string]>([
    [{ a: 1 }, 'object into Go value of type []handlers.jsonPatchOp'],
    [[1], 'number into Go value of type handlers.jsonPatchOp'],
    [[{ op: 3 }], 'number into Go struct field jsonPatchOp.op of type string'],
  ])('the JSON patch %j', async (patch, words) => {
    expect(await json(patch)).toEqual({ code: 400, message: `error decoding patch: json: cannot unmarshal ${words}` });
  });

  test.each<[string, JsonObject, string, string]>([
    ['configmaps/x', { data: { a: true } }, 'map[data:map[a:true]]', 'unrecognized type: string'],
    ['configmaps/x', { data: { a: 1 } }, 'map[data:map[a:1]]', 'cannot convert int64 to string'],
    ['configmaps/x', { metadata: 'x' }, 'map[metadata:x]', 'cannot restore struct from: string'],
    ['configmaps/x', { data: [1] }, 'map[data:[1]]', 'cannot restore map from slice'],
    [
      'configmaps/x',
      { binaryData: { a: '%' } },
      'map[binaryData:map[a:%]]',
      'error decoding from json: illegal base64 data at input byte 0',
    ],
    [
      'pods/p',
      { spec: { restartPolicy: 3 } },
      'map[spec:map[restartPolicy:3]]',
      'cannot convert int64 to v1.RestartPolicy',
    ],
    ['pods/p', { spec: { tolerations: 'x' } }, 'map[spec:map[tolerations:x]]', 'cannot restore slice from string'],
    [
      'pods/p',
      { spec: { activeDeadlineSeconds: 1.5 } },
      'map[spec:map[activeDeadlineSeconds:1.5]]',
      'cannot convert float64 to int64',
    ],
  ])('strategic, %s %j', async (path, patch, shown, words) => {
    expect(await refusal('PATCH', path, patch, 'application/strategic-merge-patch+json')).toEqual({
      code: 422,
      message: ` "" is invalid: patch: Invalid value: "${shown}": ${words}`,
    });
  });

  test.each<[string, JsonObject, string]>([
    ['ConfigMap', { data: { x: true } }, '.data.x: expected string, got &value.valueUnstructured{Value:true}'],
    ['ConfigMap', { immutable: 'x' }, '.immutable: expected boolean, got &{x}'],
    ['Pod', { spec: { containers: 'x' } }, '.spec.containers: expected list, got &{x}'],
    [
      'Pod',
      { spec: { nodeSelector: { a: { b: 1 } } } },
      '.spec.nodeSelector.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":1}}',
    ],
    [
      'Pod',
      { spec: { activeDeadlineSeconds: 'x' } },
      '.spec.activeDeadlineSeconds: expected numeric (int or float), got string',
    ],
    [
      'Pod',
      { spec: { containers: [{ name: 'c', command: [1] }] } },
      '.spec.containers[name="c"].command[0]: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [
      'Pod',
      { spec: { containers: ['x'] } },
      '.spec.containers: element 0: associative list with keys may not have non-map elements',
    ],
  ])('applied, %s %j', async (kind, fields, words) => {
    const name = kind === 'Pod' ? 'p' : 'x';
    const patch = { apiVersion: 'v1', kind, metadata: { name }, ...fields };
    expect(await refusal('PATCH', `${kind.toLowerCase()}s/${name}`, patch, 'application/apply-patch+yaml')).toEqual({
      code: 500,
      message: `failed to create typed patch object (/${name}; /v1, Kind=${kind}): ${words}`,
    });
  });

  test('applied, with a value that only its decoder knows to be wrong', async () => {
    const spec = { containers: [{ name: 'c', resources: { requests: { cpu: 'abc' } } }] };
    const patch = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
    expect(await refusal('PATCH', 'pods/p', patch, 'application/apply-patch+yaml')).toEqual({
      code: 500,
      message: `failed to convert new object (/p; /v1, Kind=Pod) to proper version: unable to convert unstructured object to /v1, Kind=Pod: ${QUANTITY}`,
    });
  });
});
