import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asText } from '@kubus/kube-objects';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
  await judged.cluster.create({
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name: 'x', namespace: judged.namespace },
  });
});
afterAll(() => judged.close());

const send = async (method: string, path: string, text: string, contentType = 'application/json') =>
  judged.cluster.raw(method, path, { body: Buffer.from(text), contentType, query: { dryRun: 'All' } });

const unrecognized = (kind: string) => `the object provided is unrecognized (must be of type ${kind}): `;
const NO_TYPE = "couldn't get version/kind; json parse error: ";

test.each([
  ['', 'unexpected end of JSON input', '<empty>'],
  ['  ', 'unexpected end of JSON input', '2020'],
  ['{', 'unexpected end of JSON input', '{'],
  ['{"a"', 'unexpected end of JSON input', '{"a"'],
  ['{"a":[1,{"b":', 'unexpected end of JSON input', '{"a":[1,{"b":'],
  ['[1,2', 'unexpected end of JSON input', '5b312c32'],
  ['"abc', 'unexpected end of JSON input', '22616263'],
  ['nul', "invalid character ' ' in literal null (expecting 'l')", '6e756c'],
  ['"\\', "invalid character ' ' in string escape code", '225c'],
  ['x', "invalid character 'x' looking for beginning of value", '78'],
  ['\ufeff{}', "invalid character 'ï' looking for beginning of value", 'efbbbf7b7d'],
  ['{"a":\u007f}', "invalid character '\\x7f' looking for beginning of value", '{"a":\u007f}'],
  ["{'a':1}", "invalid character '\\'' looking for beginning of object key string", "{'a':1}"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string", '{"a":1,}'],
  ['{"a" 1}', "invalid character '1' after object key", '{"a" 1}'],
  ['{"a":01}', "invalid character '1' after object key:value pair", '{"a":01}'],
  ['{"a":{} "b"}', "invalid character '\"' after object key:value pair", '{"a":{} "b"}'],
  ['[[] 2]', "invalid character '2' after array element", '5b5b5d20325d'],
  ['{} x', "invalid character 'x' after top-level value", '{} x'],
  ['{"a":"b\nc"}', "invalid character '\\n' in string literal", '{"a":"b\nc"}'],
  ['{"a":"\\x"}', "invalid character 'x' in string escape code", '{"a":"\\x"}'],
  ['{"a":"\\u12x4"}', "invalid character 'x' in \\u hexadecimal character escape", '{"a":"\\u12x4"}'],
  ['{"a":-}', "invalid character '}' in numeric literal", '{"a":-}'],
  ['{"a":1.}', "invalid character '}' after decimal point in numeric literal", '{"a":1.}'],
  ['{"a":1e+}', "invalid character '}' in exponent of numeric literal", '{"a":1e+}'],
  ['{"a":falsx}', "invalid character 'x' in literal false (expecting 'e')", '{"a":falsx}'],
  ['['.repeat(10_001), "invalid character '[' exceeded max depth", `${'5b'.repeat(30)} ...`],
  [
    `{"a":${'{"b":'.repeat(10_000)}1${'}'.repeat(10_001)}`,
    "invalid character '{' exceeded max depth",
    '{"a":{"b":{"b":{"b":{"b":{"b": ...',
  ],
  [
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"q"}`,
    'unexpected end of JSON input',
    '{"apiVersion":"v1","kind":"Con ...',
  ],
])('%j is refused in words of Go', async (text, problem, shown) => {
  const { code, body } = await send('POST', judged.path('configmaps'), text);
  expect([code, body['message']]).toEqual([400, `${unrecognized('ConfigMap')}${NO_TYPE}${problem} (${shown})`]);
});

describe('a body that is cut off is refused as such', () => {
  const END = 'unexpected end of JSON input';
  const of = (kind: string) => `${unrecognized(kind)}${NO_TYPE}${END} ({"a)`;
  const patch = (kind: string) => `application/${kind}-patch+json`;
  test.each([
    ['PUT', 'configmaps/x', 'application/json', of('ConfigMap')],
    ['POST', 'serviceaccounts/default/token', 'application/json', of('TokenRequest')],
    ['POST', 'pods/none/eviction', 'application/json', of('Eviction')],
    ['POST', 'pods/none/binding', 'application/json', of('Binding')],
    ['DELETE', 'configmaps/x', 'application/json', `${NO_TYPE}${END}`],
    ['PATCH', 'configmaps/x', patch('json'), `error decoding patch: ${END}`],
    ['PATCH', 'configmaps/x', patch('merge'), `error decoding patch: ${END}`],
    ['PATCH', 'configmaps/x', patch('strategic-merge'), END],
  ])('%s %s as %s', async (method, path, contentType, message) => {
    const { code, body } = await send(method, judged.path(path), '{"a', contentType);
    expect([code, body['message']]).toEqual([400, message]);
  });

  test('a review', async () => {
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect((await send('POST', path, '{"a')).body['message']).toBe(of('SelfSubjectAccessReview'));
  });

  test('YAML', async () => {
    const { code, body } = await send('POST', judged.path('configmaps'), 'a: [1', 'application/yaml');
    const begins = `${unrecognized('ConfigMap')}yaml: line 1: `;
    expect([code, asText(body['message']).slice(0, begins.length)]).toEqual([400, begins]);
  });
});

test('an empty patch is refused as JSON that is cut off', async () => {
  const { code, body } = await send('PATCH', judged.path('configmaps/x'), '', 'application/merge-patch+json');
  expect([code, body['message']]).toEqual([400, 'error decoding patch: unexpected end of JSON input']);
});

test('a body that is neither JSON nor YAML nor protobuf is refused', async () => {
  expect(await send('POST', judged.path('configmaps'), '{}', 'text/plain')).toMatchObject(
    refused(415, 'UnsupportedMediaType', /^the body of the request was in an unknown format - accepted media types/),
  );
  const { body } = await send('POST', judged.path('configmaps'), 'x', 'application/vnd.kubernetes.protobuf');
  expect(body['message']).toBe(
    `${unrecognized('ConfigMap')}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (78)`,
  );
});
