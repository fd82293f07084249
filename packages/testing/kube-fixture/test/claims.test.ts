// Classes of devices, claims for them, and templates of claims.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asList, asText, at } from '@kubus/kube-objects';
import { type JsonObject, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
const CLASS = { kind: 'DeviceClass', name: `gpu-${randomBytes(4).toString('hex')}` };
const apiVersion = 'resource.k8s.io/v1';

beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(async () => {
  await judged.cluster.delete(CLASS);
  await judged.close();
});

const requests = (...all: readonly JsonObject[]): JsonObject => ({ devices: { requests: all } });
const exactly = (fields: JsonObject = {}) => ({ name: 'a', exactly: { deviceClassName: CLASS.name, ...fields } });

async function cells(path: string): Promise<unknown> {
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const { body } = await judged.cluster.raw('GET', path, { headers });
  const names = asList(body['columnDefinitions']).map((column) => at(column, 'name') as string);
  return Object.fromEntries(names.map((name, index) => [name, asList(at(asList(body['rows'])[0], 'cells'))[index]]));
}

test('a class is made, changed with a generation, listed, and refused without an expression', async () => {
  const spec = { selectors: [{ cel: { expression: 'true' } }] };
  const body = { apiVersion, kind: 'DeviceClass', metadata: { name: CLASS.name }, spec };
  expect(await judged.cluster.create(body)).toMatchObject({ spec, metadata: { generation: 1 } });
  const changed = await judged.patch(pathOf(CLASS), 'merge', { spec: { extendedResourceName: 'example.com/gpu' } });
  expect(changed).toMatchObject({ code: 200, body: { metadata: { generation: 2 } } });
  expect(await cells(pathOf(CLASS))).toEqual({ Name: CLASS.name, Age: expect.any(String) });
  const wrong = await judged.cluster.raw('POST', pathOf({ ...CLASS, name: '' }), {
    body: { ...body, metadata: { name: 'wrong' }, spec: { selectors: [{}] } },
  });
  expect(wrong).toMatchObject(refused(422, 'Invalid', /: spec.selectors\[0\].cel: Required value$/));
});

describe.each([
  ['ResourceClaim', (spec: JsonObject) => spec, 'spec'],
  ['ResourceClaimTemplate', (spec: JsonObject) => ({ spec }), 'spec.spec'],
] as const)('a %s', (kind, specOf, path) => {
  const name = kind.toLowerCase();
  const all = () => pathOf({ kind, namespace: judged.namespace, name: '' });
  const body = (spec: JsonObject, of = name) => ({
    ...{ apiVersion, kind, metadata: { name: of, namespace: judged.namespace } },
    spec: specOf(spec),
  });

  test('has the defaults of its requests, and never changes', async () => {
    const asked = [exactly(), { name: 'b', exactly: { deviceClassName: 'x', allocationMode: 'All' } }];
    const several = { name: 'c', firstAvailable: [{ name: 'd', deviceClassName: 'x' }] };
    const { spec } = await judged.cluster.create(body(requests(...asked, several)));
    expect(kind === 'ResourceClaim' ? spec : spec?.['spec']).toEqual(
      requests(
        exactly({ allocationMode: 'ExactCount', count: 1 }),
        { name: 'b', exactly: { deviceClassName: 'x', allocationMode: 'All' } },
        { name: 'c', firstAvailable: [{ name: 'd', deviceClassName: 'x', allocationMode: 'ExactCount', count: 1 }] },
      ),
    );
    const changed = await judged.patch(`${all()}/${name}`, 'merge', { spec: specOf(requests(exactly({ count: 2 }))) });
    expect(changed).toMatchObject(refused(422, 'Invalid', /: spec: Invalid value: .*field is immutable$/s));
    const State = kind === 'ResourceClaim' ? { State: 'pending' } : {};
    expect(await cells(`${all()}/${name}`)).toEqual({ Name: name, ...State, Age: expect.any(String) });
  });

  test.each([
    [{ name: 'a' }, '', 'exactly one of `exactly` or `firstAvailable` is required'],
    [{ name: 'a', exactly: { allocationMode: 'All' } }, '.exactly.deviceClassName', ''],
  ])('is refused with the request %j', async (request, field, why) => {
    const answer = await judged.cluster.raw('POST', all(), { body: body(requests(request), 'wrong') });
    const message = `${path}.devices.requests[0]${field}: Required value${why === '' ? '' : `: ${why}`}`;
    expect([answer.code, asText(answer.body['message']).endsWith(message)]).toEqual([422, true]);
  });
});

test('discovery has the category of kinds that kubectl get all shows', async () => {
  const { body } = await judged.cluster.raw('GET', '/api/v1');
  const of = (name: string) => asList(body['resources']).find((one) => at(one, 'name') === name);
  expect([of('pods'), of('services')].map((one) => at(one, 'categories'))).toEqual([['all'], ['all']]);
  expect(at(of('configmaps'), 'categories')).toBeUndefined();
});
