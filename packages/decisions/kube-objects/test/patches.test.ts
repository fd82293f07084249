import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Json, JsonObject } from '../src/index.ts';
import { jsonPatch } from '../src/patch/json-patch.ts';
import { mergePatch } from '../src/patch/merge-patch.ts';
import { strategicMerge } from '../src/patch/strategic-merge.ts';

describe('a merge patch', () => {
  // RFC 7386, appendix A.
  test.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });
});

describe('a JSON patch', () => {
  test('applies all of its operations or none', () => {
    const target = { a: { b: [1, 2] } };
    const patch = [
      { op: 'test', path: '/a/b/0', value: 1 },
      { op: 'add', path: '/a/b/-', value: 3 },
      { op: 'remove', path: '/a/b/0' },
    ];
    expect(jsonPatch(target, patch)).toEqual({ a: { b: [2, 3] } });
    expect(() => jsonPatch(target, [...patch, { op: 'test', path: '/a', value: 1 }])).toThrow('rejected our request');
    expect(target).toEqual({ a: { b: [1, 2] } });
  });

  test.each<[Json]>([[{}], ['a'], [[1]]])('must be a list of operations: %j', (patch) => {
    expect(() => jsonPatch({}, patch)).toThrow('error decoding patch');
  });
});

const rule = { fields: { list: { key: 'k', fields: { inner: { key: 'i' } } }, set: { key: '' } } };
const keys = (value: JsonObject) => (value['list'] as JsonObject[]).map(({ k }) => k);

describe('a strategic merge patch', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['merges objects', { o: { a: 1, b: 2 } }, { o: { b: 3 } }, { o: { a: 1, b: 3 } }],
    ['removes by null', { o: { a: 1, b: 2 } }, { o: { b: null } }, { o: { a: 1 } }],
    ['replaces other lists', { other: [1, 2] }, { other: [3] }, { other: [3] }],
    [
      'merges items by their key',
      { list: [{ k: 'a', x: 1 }, { k: 'b' }] },
      { list: [{ k: 'a', y: 2 }] },
      { list: [{ k: 'a', x: 1, y: 2 }, { k: 'b' }] },
    ],
    [
      'merges lists within items',
      { list: [{ k: 'a', inner: [{ i: 1, x: 1 }] }] },
      { list: [{ k: 'a', inner: [{ i: 1, y: 2 }, { i: 2 }] }] },
      { list: [{ k: 'a', inner: [{ i: 1, x: 1, y: 2 }, { i: 2 }] }] },
    ],
    [
      'deletes an item',
      { list: [{ k: 'a' }, { k: 'b' }] },
      { list: [{ k: 'a', $patch: 'delete' }] },
      { list: [{ k: 'b' }] },
    ],
    [
      'replaces a list',
      { list: [{ k: 'a' }, { k: 'b' }] },
      { list: [{ $patch: 'replace' }, { k: 'c' }] },
      { list: [{ k: 'c' }] },
    ],
    ['replaces an object', { o: { a: 1 } }, { o: { $patch: 'replace', b: 2 } }, { o: { b: 2 } }],
    ['empties an object', { o: { a: 1 } }, { o: { $patch: 'delete' } }, { o: {} }],
    [
      'keeps the named keys alone',
      { o: { a: 1, b: 2 } },
      { o: { $retainKeys: ['b', 'c'], c: 3 } },
      { o: { b: 2, c: 3 } },
    ],
    ['merges plain values', { set: ['a', 'b'] }, { set: ['c', 'a'] }, { set: ['c', 'a', 'b'] }],
    ['removes plain values', { set: ['a', 'b'] }, { '$deleteFromPrimitiveList/set': ['a'] }, { set: ['b'] }],
    [
      'orders items',
      { list: [{ k: 'a' }, { k: 'b' }, { k: 'c' }] },
      { '$setElementOrder/list': [{ k: 'c' }, { k: 'a' }] },
      { list: [{ k: 'b' }, { k: 'c' }, { k: 'a' }] },
    ],
  ])('%s', (_what, target, patch, result) => {
    expect(strategicMerge(target, patch, rule)).toEqual(result);
  });

  test.each<[JsonObject, string]>([
    [{ o: { $patch: 'what' } }, 'unknown patch type: what'],
    [{ list: [{ x: 1 }] }, 'does not contain declared merge key: k'],
    [
      { '$setElementOrder/list': [{ k: 'a' }, { k: 'b' }], list: [{ k: 'b' }, { k: 'a' }] },
      "doesn't match $setElementOrder",
    ],
    [{ '$setElementOrder/list': [{ k: 'a' }], list: [{ k: 'b' }] }, "doesn't match $setElementOrder"],
  ])('is refused: %j', (patch, message) => {
    expect(() => strategicMerge({}, patch, rule)).toThrow(message);
  });

  const items = fc.uniqueArray(fc.record({ k: fc.constantFrom('a', 'b', 'c', 'd', 'e'), v: fc.nat(3) }), {
    selector: ({ k }) => k,
  });
  test('turns any list into the desired list and order', () => {
    fc.assert(
      fc.property(items, items, (before, wanted) => {
        const gone = before.filter(({ k }) => !wanted.some((one) => one.k === k));
        const patch = {
          '$setElementOrder/list': wanted.map(({ k }) => ({ k })),
          list: [...wanted, ...gone.map(({ k }) => ({ k, $patch: 'delete' }))],
        };
        expect(strategicMerge({ list: before }, patch, rule)).toEqual({ list: wanted });
      }),
    );
  });

  test('keeps every item once, and is idempotent', () => {
    fc.assert(
      fc.property(items, items, (before, list) => {
        const once = strategicMerge({ list: before }, { list }, rule);
        expect(keys(once).toSorted()).toEqual([...new Set([...before, ...list].map(({ k }) => k))].toSorted());
        expect(strategicMerge(once, { list }, rule)).toEqual(once);
      }),
    );
  });
});
