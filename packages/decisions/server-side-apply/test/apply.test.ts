import { describe, expect, test } from '@jest/globals';
import { asObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { applyPatch, updateManagedFields } from '../src/index.ts';

const time = '2026-01-01T00:00:00Z';
const later = '2026-01-01T00:00:09Z';
const write = { apiVersion: 'v1', kind: 'Pod', time };
const object = (fields: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...fields,
  metadata: { name: 'a', namespace: 'default', ...asObject(fields['metadata']) },
});
const container = (name: string, fields: JsonObject = {}): JsonObject => ({ name, ...fields });

function applied(
  live: JsonObject | undefined,
  patch: JsonObject,
  manager = 'me',
  force = false,
  at = time,
): JsonObject {
  const result = applyPatch({ ...write, time: at, live, patch, manager, force });
  if (result.outcome !== 'applied') throw new Error(result.message);
  return result.object;
}

const managersOf = (from: JsonObject): Json | undefined => asObject(from['metadata'])['managedFields'];

describe('apply', () => {
  test('conflicts with who updated the field, and takes it with force', () => {
    const live = updateManagedFields(undefined, object({ spec: { containers: [container('c', { image: 'one' })] } }), {
      ...write,
      manager: 'kubectl-client-side-apply',
    });
    const patch = object({ spec: { containers: [container('c', { image: 'two' })] } });
    expect(applyPatch({ ...write, live, patch, manager: 'me', force: false })).toEqual({
      outcome: 'conflict',
      message:
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .spec.containers[name="c"].image',
      causes: [
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "kubectl-client-side-apply" using v1',
          field: '.spec.containers[name="c"].image',
        },
      ],
    });
    const forced = applied(live, patch, 'me', true);
    expect(forced['spec']).toEqual({ containers: [{ name: 'c', image: 'two', resources: {} }] });
  });

  test('removes what the manager no longer applies, unless another one has it', () => {
    const labels = { a: '1', b: '2' };
    const one = applied(undefined, object({ metadata: { labels } }), 'one');
    const two = applied(one, object({ metadata: { labels: { b: '2' } } }), 'two');
    const less = applied(two, object({}), 'one', false, later);
    expect(asObject(less['metadata'])['labels']).toEqual({ b: '2' });
    expect(managersOf(less)).toEqual([
      {
        manager: 'two',
        operation: 'Apply',
        apiVersion: 'v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:metadata': { 'f:labels': { 'f:b': {} } } },
      },
    ]);
  });

  test('changes no time if it changes nothing', () => {
    const patch = object({ metadata: { labels: { a: '1' } } });
    const first = applied(undefined, patch);
    expect(applied(first, patch, 'me', false, later)).toEqual(first);
  });

  test.each([
    ['another kind', { ...object({}), kind: 'Node' }, 'invalid object type: /v1, Kind=Node'],
    ['another group', { ...object({}), apiVersion: 'a/v1' }, 'invalid object type: a/v1, Kind=Pod'],
    ['managers of its own', object({ metadata: { managedFields: [] } }), 'metadata.managedFields must be nil'],
    [
      'a list that is none',
      object({ spec: { containers: 'c' } }),
      'failed to create typed patch object (default/a; /v1, Kind=Pod): .spec.containers: expected list, got &{c}',
    ],
    [
      'a set with an object',
      object({ metadata: { finalizers: [{}] } }),
      "failed to create typed patch object (default/a; /v1, Kind=Pod): .metadata.finalizers: element 0: associative list without keys has an element that's a map type",
    ],
  ] as const)('refuses %s', (_, patch, message) => {
    expect(applyPatch({ ...write, patch, manager: 'me', force: true })).toMatchObject({ outcome: 'refused', message });
  });

  test('refuses an object that is nested deeper than any kind', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`) as JsonObject;
    const refused = applyPatch({ ...write, patch: object({ spec: deep }), manager: 'me', force: true });
    expect(refused).toMatchObject({ outcome: 'refused', code: 500 });
  });

  test('treats fields with the names of JavaScript as any other', () => {
    const patch = JSON.parse(
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"__proto__":"1","constructor":"2"}}}',
    ) as JsonObject;
    const labels = asObject(asObject(applied(applied(undefined, object({})), patch)['metadata'])['labels']);
    expect(JSON.stringify(labels)).toBe('{"__proto__":"1","constructor":"2"}');
  });
});

describe('update', () => {
  const update = (live: JsonObject | undefined, next: JsonObject, manager: string, at = time): JsonObject =>
    updateManagedFields(live, next, { ...write, manager, time: at });

  test('moves the time of a manager only if it changes something', () => {
    const made = update(undefined, object({ metadata: { labels: { a: '1' } } }), 'me');
    expect(update(made, made, 'me', later)).toEqual(made);
    expect(update(made, made, 'other', later)).toEqual(made);
    const changed = update(
      made,
      { ...made, metadata: { ...asObject(made['metadata']), labels: { a: '2' } } },
      'me',
      later,
    );
    expect(managersOf(changed)).toMatchObject([{ manager: 'me', operation: 'Update', time: later }]);
  });

  test('keeps what it cannot read of the managers as they are stored', () => {
    const made = update(undefined, object({ metadata: { labels: { a: '1' } } }), 'me');
    const wrong = { ...made, metadata: { ...asObject(made['metadata']), managedFields: [{ manager: 'x' }] } };
    expect(update(made, wrong, 'me')).toEqual(made);
  });

  test('an empty list of managers takes them away until the next apply', () => {
    const made = update(undefined, object({ metadata: { labels: { a: '1' } } }), 'me');
    const bare = update(made, { ...made, metadata: { ...asObject(made['metadata']), managedFields: [] } }, 'me');
    expect(managersOf(bare)).toBeUndefined();
    expect(managersOf(applied(bare, object({ metadata: { labels: { b: '2' } } })))).toMatchObject([
      { manager: 'me', operation: 'Apply' },
      { manager: 'before-first-apply', operation: 'Update' },
    ]);
  });
});
