import { describe, expect, test } from '@jest/globals';
import { type Json, type JsonObject, at, isObject, resources, reviews } from '@kubus/kube-objects';
import { encodeObject, openApiDocument, openApiV2, withoutUnknownFields } from '../src/index.ts';
import { jsonFieldsOf, typeOfObject } from '../src/types.ts';

const kinds = [...resources, ...reviews];
const POD = { apiVersion: 'v1', kind: 'Pod' };

test.each(kinds.map(({ group, version, kind }) => [group === '' ? version : `${group}/${version}`, kind]))(
  '%s %s has fields',
  (apiVersion, kind) => {
    const type = typeOfObject({ apiVersion, kind }) ?? '';
    expect(jsonFieldsOf(type)?.map(({ name }) => name)).toContain('metadata');
    expect(encodeObject({ apiVersion, kind })).toBeDefined();
  },
);

function references(value: Json): string[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(references);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === '$ref' && typeof one === 'string' ? [one] : references(one as Json),
  );
}

describe('OpenAPI', () => {
  test.each<[string, JsonObject, string[]]>([
    ['2', openApiV2(kinds), ['definitions']],
    ['3', openApiDocument(kinds), ['components', 'schemas']],
  ])('the document of version %s has all that it refers to', (_version, document, place) => {
    const prefix = `#/${place.join('/')}/`;
    const names = Object.keys(at(document, ...place) as JsonObject);
    const used = [...new Set(references(document))];
    expect(used.length).toBeGreaterThan(200);
    expect(used.filter((one) => !one.startsWith(prefix) || !names.includes(one.slice(prefix.length)))).toEqual([]);
  });

  test('fields of inlined types are among the others, and required ones are named', () => {
    const schemas = ['components', 'schemas'];
    const document = openApiDocument(resources.filter(({ kind }) => kind === 'Pod'));
    expect(at(document, ...schemas, 'io.k8s.api.core.v1.Volume', 'properties')).toHaveProperty('emptyDir');
    expect(at(document, ...schemas, 'io.k8s.api.core.v1.Container', 'required')).toEqual(['name']);
    expect(at(document, ...schemas, 'io.k8s.api.core.v1.Pod')).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
    });
  });
});

describe('unknown fields', () => {
  test('are dropped and named by path', () => {
    const object = {
      ...POD,
      extra: 1,
      metadata: { name: 'a', labels: { any: 'thing' }, managedFields: [{ fieldsV1: { 'f:x': {} } }] },
      spec: { containers: [{ name: 'c', imagee: 'x', env: [{ name: 'A', values: '1' }] }] },
    };
    const { extra: _, ...rest } = object;
    expect(withoutUnknownFields(POD, object)).toEqual({
      object: { ...rest, spec: { containers: [{ name: 'c', env: [{ name: 'A' }] }] } },
      unknown: ['extra', 'spec.containers[0].imagee', 'spec.containers[0].env[0].values'],
    });
  });

  test('what is of another type than it should be stays for validation to refuse', () => {
    const object = { ...POD, metadata: 'none', spec: { containers: { a: 1 }, nodeSelector: 3 } };
    expect(withoutUnknownFields(POD, object)).toEqual({ object, unknown: [] });
  });

  test('an object of an unknown kind stays as it is', () => {
    const object = { apiVersion: 'a/v1', kind: 'B', c: 1 };
    expect(withoutUnknownFields(object, object)).toEqual({ object, unknown: [] });
  });
});

test.each([
  ['core.v1.Event', ['involvedObject', 'metadata']],
  ['core.v1.PodSpec', ['containers']],
  ['core.v1.Container', ['name']],
  ['rbac.v1.RoleRef', ['kind', 'name']],
  ['scheduling.v1.PriorityClass', undefined],
])('clients ask for the fields of %s that the reference asks for', (type, required) => {
  const definition = at(openApiV2(kinds), 'definitions', `io.k8s.api.${type}`);
  expect(at(definition, 'required')).toEqual(required);
});
