import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type NodeObject, saysSomethingNew, statusPatch, withStatus } from '../src/index.ts';
import { node, statusInput } from './make.ts';

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The result of a strategic merge patch in an API server, where the lists of a Node object's status are merged by `type`. */
function apply(target: Json, patch: Json): Json {
  const result = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, name);
    else if (isObject(value)) result[name] = apply(isObject(target[name]) ? target[name] : {}, value);
    else if (name === 'conditions') result[name] = merge((target[name] ?? []) as Json[], value as Json[]);
    else result[name] = Array.isArray(value) ? value.filter((item: Json | string) => !hasDirective(item)) : value;
  }
  return result;
}

function merge(target: Json[], patch: Json[]): Json[] {
  const result = [...target];
  for (const item of patch) {
    const index = result.findIndex(({ type }) => type === item['type']);
    if (index === -1) result.push(item);
    else result[index] = apply(result[index] ?? {}, item);
  }
  return result;
}

const hasDirective = (item: Json | string) => isObject(item) && '$patch' in item;

const word = fc.constantFrom('a', 'b', 'c');
const amounts = fc.dictionary(fc.constantFrom('cpu', 'memory', 'pods'), fc.constantFrom('1', '2Gi'));
const condition = fc.record({ status: word, lastHeartbeatTime: word, reason: word });
const status = fc.record(
  {
    capacity: amounts,
    allocatable: amounts,
    conditions: fc
      .array(condition, { maxLength: 3 })
      .map((all) => all.map((one, type) => ({ type: `T${type}`, ...one }))),
    addresses: fc.array(fc.record({ type: word, address: word }), { maxLength: 3 }),
    nodeInfo: fc.record({ bootID: word, swap: fc.record({ capacity: fc.nat(3) }) }, { requiredKeys: [] }),
    images: fc.array(fc.record({ names: fc.array(word), sizeBytes: fc.nat(3) })),
    declaredFeatures: fc.array(word),
  },
  { requiredKeys: [] },
);
const object = fc
  .record({ labels: fc.dictionary(word, word), annotations: fc.dictionary(word, word), status })
  .map(({ labels, annotations, status: of }) => node({ metadata: { labels, annotations }, status: of }));

/** Without empty values, which are equal to missing ones. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(canonical);
  if (!isObject(value)) return value ?? undefined;
  const entries = Object.entries(value).flatMap(([name, one]): [string, unknown][] => {
    const kept = canonical(one);
    return kept === undefined ? [] : [[name, kept]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

describe('the patch of a status', () => {
  test('changes one status to the other', () => {
    const check = (before: NodeObject, after: NodeObject) => {
      // The node must not remove a condition that another component has set.
      const kept = (before.status.conditions ?? []).slice(after.status.conditions?.length ?? 0);
      const conditions = [...(after.status.conditions ?? []), ...kept];
      const patch = statusPatch(before, { ...after, status: { ...after.status, conditions } });
      const patched = apply(before, patch ?? {});
      expect(canonical(patched)).toEqual(canonical({ ...after, status: { ...after.status, conditions } }));
    };
    fc.assert(fc.property(object, object, check));
  });

  test('is undefined for equal objects', () => {
    fc.assert(
      fc.property(object, (same) => {
        expect(statusPatch(same, structuredClone(same))).toBeUndefined();
        expect(saysSomethingNew(same, structuredClone(same))).toBe(false);
      }),
    );
  });

  test('contains only times for a heartbeat', () => {
    const before = withStatus(node(), statusInput()).node;
    const after = withStatus(before, statusInput({ now: '2030-01-01T00:05:00Z' })).node;
    const beat = (type: string) => ({ type, lastHeartbeatTime: '2030-01-01T00:05:00Z' });
    expect(statusPatch(before, after)).toEqual({
      metadata: { uid: 'u1' },
      status: { conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map(beat) },
    });
  });

  test('replaces addresses, because two of one type would be merged', () => {
    const addresses = [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'InternalIP', address: 'fd00::1' },
    ];
    expect(statusPatch(node(), node({ status: { addresses } }))).toEqual({
      metadata: { uid: 'u1' },
      status: { addresses: [...addresses, { $patch: 'replace' }] },
    });
  });

  test('removes a label', () => {
    const before = node({ metadata: { labels: { a: '1', b: '2' } } });
    expect(statusPatch(before, node({ metadata: { labels: { a: '1' } } }))).toEqual({
      metadata: { uid: 'u1', labels: { b: null } },
      status: {},
    });
  });
});
