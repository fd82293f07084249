import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { type JsonSchema, asyncApiDocument } from '../src/index.ts';
import {
  type ComparedContract,
  describeIncompatibility,
  incompatibilities,
  keptContract,
  readPrevious,
  recordsContract,
  refusals,
  tolerated,
} from '../src/versions.ts';

const present = asyncApiDocument('1.2.3', 'how it works');

/** A contract with one message that two services publish and read. */
function contract(payload: JsonSchema, more: Partial<ComparedContract> = {}): ComparedContract {
  return {
    channels: { 'a.fact.b.v1': { address: 'kubus.{node}.a.fact.b.{key}' } },
    operations: { 'one.owns.a.fact.b.v1': {}, 'two.reads.a.fact.b.v1': {} },
    components: {
      messages: { 'a.fact.b.v1': { payload: { $ref: '#/components/schemas/a.fact.b.v1' } } },
      schemas: { 'a.fact.b.v1': payload },
    },
    ...more,
  };
}

const object = (properties: object, required: string[] = []): JsonSchema => ({ type: 'object', properties, required });
const string = { type: 'string' };
const word = (...values: string[]): JsonSchema => ({ type: 'string', enum: values });
const alternatives = (...anyOf: JsonSchema[]): JsonSchema => ({ anyOf });
const tagged = (kind: string, properties = {}): JsonSchema =>
  object({ kind: { type: 'string', const: kind }, ...properties }, ['kind']);

describe('a changed payload', () => {
  const changes: [what: string, before: JsonSchema, now: JsonSchema, found: string[]][] = [
    ['an optional field is added', object({ a: string }), object({ a: string, b: string }), []],
    ['a field is added to an item', listOf(object({})), listOf(object({ a: string })), []],
    ['a required field is added', object({}), object({ a: string }, ['a']), ['refused by the later: a']],
    ['a field is removed', object({ a: string, b: string }), object({ b: string }), ['field removed: a']],
    [
      'a required field is removed',
      object({ a: string }, ['a']),
      object({}),
      ['field removed: a', 'refused by the earlier: a'],
    ],
    ['a field becomes optional', object({ a: string }, ['a']), object({ a: string }), ['refused by the earlier: a']],
    ['a field becomes required', object({ a: string }), object({ a: string }, ['a']), ['refused by the later: a']],
    ['a field is renamed', object({ a: string }), object({ b: string }), ['field removed: a']],
    [
      'a field has another type',
      object({ a: { b: 1, ...object({ c: string }) } }),
      object({ a: object({ c: { type: 'number' } }) }),
      ['refused by the later: a.c', 'refused by the earlier: a.c'],
    ],
    [
      'a whole number may have a fraction',
      object({ a: { type: 'integer' } }),
      object({ a: { type: 'number' } }),
      ['refused by the earlier: a'],
    ],
    [
      'a value is added to a list',
      object({ a: word('x') }),
      object({ a: word('x', 'y') }),
      ['refused by the earlier: a'],
    ],
    [
      'a value is removed from a list',
      object({ a: word('x', 'y') }),
      object({ a: word('x') }),
      ['refused by the later: a'],
    ],
    [
      'a list of values becomes any string',
      object({ a: word('x') }),
      object({ a: string }),
      ['refused by the earlier: a'],
    ],
    [
      'the order of values and fields changes',
      object({ a: word('x', 'y'), b: string }),
      object({ b: string, a: word('y', 'x') }),
      [],
    ],
    [
      'an alternative is added',
      alternatives(tagged('x')),
      alternatives(tagged('x'), tagged('y')),
      ['refused by the earlier: kind'],
    ],
    [
      'an alternative gets a field',
      alternatives(tagged('x'), tagged('y')),
      alternatives(tagged('x'), tagged('y', { a: string })),
      [],
    ],
    [
      'an alternative loses a field',
      alternatives(tagged('x'), tagged('y', { a: string })),
      alternatives(tagged('x'), tagged('y')),
      ['field removed: a'],
    ],
    [
      'null becomes possible',
      object({ a: string }),
      object({ a: alternatives(string, { type: 'null' }) }),
      ['refused by the earlier: a'],
    ],
    [
      'a bound is tighter',
      object({ a: { type: 'integer', maximum: 9 } }),
      object({ a: { type: 'integer', maximum: 5 } }),
      ['refused by the later: a'],
    ],
    [
      'a bound is wider',
      object({ a: { type: 'integer', minimum: 1 } }),
      object({ a: { type: 'integer', minimum: 0 } }),
      ['refused by the earlier: a'],
    ],
    [
      'a bound is new',
      object({ a: { type: 'array' } }),
      object({ a: { type: 'array', minItems: 1 } }),
      ['refused by the later: a'],
    ],
    [
      'a pattern changes',
      object({ a: { ...string, pattern: 'x' } }),
      object({ a: { ...string, pattern: 'y' } }),
      ['refused by the later: a', 'refused by the earlier: a'],
    ],
    ['items change', object({ a: listOf(string) }), object({ a: listOf(word('x')) }), ['refused by the later: a[]']],
    ['values of a map change', mapOf(word('x')), mapOf(word('x', 'y')), ['refused by the earlier: {}']],
    [
      'a field is added where unknown fields are refused',
      closed({}),
      closed({ a: string }),
      ['refused by the earlier: a'],
    ],
    ['unknown fields become refused', object({ a: string }), closed({ a: string }), []],
    [
      'a tuple gets longer',
      { type: 'array', items: [string] },
      { type: 'array', items: [string, string] },
      ['refused by the later: [1]', 'refused by the earlier: '],
    ],
  ];

  test.each(changes)('%s', (_what, before, now, found) => {
    const reported = incompatibilities(contract(before), contract(now)).map(({ kind, field }) => `${kind}: ${field}`);
    expect(reported.sort()).toEqual([...found].sort());
  });
});

describe('a changed contract', () => {
  const payload = object({ a: string });
  const before = contract(payload);
  const changes: [what: string, now: Partial<ComparedContract>, found: string[]][] = [
    ['a message is added', { channels: { ...before.channels, 'c.event.d.v1': { address: 'x' } } }, []],
    ['a message is removed', { channels: {}, operations: {} }, ['message removed: a.fact.b.v1']],
    ['a subject changes', { channels: { 'a.fact.b.v1': { address: 'x' } } }, ['subject changed: a.fact.b.v1']],
    ['another service reads it', { operations: { ...before.operations, 'three.reads.a.fact.b.v1': {} } }, []],
    ['no service reads it any more', { operations: { 'one.owns.a.fact.b.v1': {} } }, []],
    [
      'it gets another owner',
      { operations: { 'three.owns.a.fact.b.v1': {}, 'two.reads.a.fact.b.v1': {} } },
      ['sender removed: a.fact.b.v1'],
    ],
  ];

  test.each(changes)('%s', (_what, now, found) => {
    const reported = incompatibilities(before, contract(payload, now)).map(({ kind, of }) => `${kind}: ${of}`);
    expect(reported).toEqual(found);
  });

  test('a command that is no longer served is incompatible; one that is no longer called is not', () => {
    const serves = { 'one.serves.a.fact.b.v1': {} };
    const [with_, without] = [contract(payload, { operations: serves }), contract(payload, { operations: {} })];
    expect(incompatibilities(with_, without)).toMatchObject([{ kind: 'server removed', of: 'a.fact.b.v1' }]);
    const calls = contract(payload, { operations: { 'one.calls.a.fact.b.v1': {} } });
    expect(incompatibilities(calls, without)).toEqual([]);
  });

  test('shared schemas are compared once, and the comparison of recursive ones terminates', () => {
    const tree = (leaf: JsonSchema): ComparedContract => {
      const schemas = {
        Tree: object({ leaf, below: listOf({ $ref: '#/components/schemas/Tree' }) }),
        'a.fact.b.v1': object({ tree: { $ref: '#/components/schemas/Tree' } }),
      };
      return contract({}, { components: { messages: {}, schemas } });
    };
    const reported = incompatibilities(tree(string), tree({ type: 'number' }));
    expect(reported.map(({ kind, of, field }) => [kind, of, field])).toEqual([
      ['refused by the later', 'Tree', 'leaf'],
      ['refused by the earlier', 'Tree', 'leaf'],
    ]);
  });
});

describe('the comparison', () => {
  const scalar = fc.constantFrom<JsonSchema>(
    string,
    { type: 'integer', minimum: 1 },
    { type: 'number' },
    { type: 'integer', minimum: 0, maximum: 3 },
    word('x'),
    word('x', 'y'),
    { type: 'null' },
    { type: 'boolean' },
  );
  const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc
        .record({
          properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }),
          needed: fc.subarray(['a', 'b']),
          closed: fc.boolean(),
        })
        .map(({ properties, needed, closed: isClosed }) => ({
          ...object(
            properties,
            needed.filter((name) => name in properties),
          ),
          ...(isClosed && { additionalProperties: false }),
        })),
      tie('schema').map(listOf),
      tie('schema').map(mapOf),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((all) => alternatives(...all)),
    ),
  }));
  const none = () => ({});

  test('finds every value that a reader refuses', () => {
    let compatible = 0;
    const pairs = schema.chain((writer) =>
      fc.tuple(fc.constant(writer), fc.oneof(schema, changed(writer)), valueOf(writer)),
    );
    fc.assert(
      fc.property(pairs, ([writer, reader, value]) => {
        if (refusals(writer, reader, { writer: none, reader: none }).length > 0) return;
        compatible += 1;
        expect(new Ajv({ strict: false }).validate(reader, value)).toBe(true);
      }),
      { numRuns: 200 },
    );
    expect(compatible).toBeGreaterThan(0);
  });

  test('finds nothing between a schema and itself', () => {
    fc.assert(fc.property(schema, (one) => expect(refusals(one, one, { writer: none, reader: none })).toEqual([])));
  });

  /** The same with one more alternative, or as an object with one more field. */
  function changed(writer: JsonSchema): fc.Arbitrary<JsonSchema> {
    const { properties } = writer;
    if (typeof properties !== 'object') return schema.map((more) => alternatives(writer, more));
    return schema.map((more) => ({ ...writer, properties: { ...properties, c: more } }));
  }

  /** Values that a writer may send by the schema, without fields that it does not name. */
  function valueOf(writer: JsonSchema): fc.Arbitrary<unknown> {
    const { type, anyOf, enum: values, properties, items, additionalProperties, required } = writer;
    const { minimum = -5, maximum = 5 } = writer as { minimum?: number; maximum?: number };
    if (Array.isArray(anyOf)) return fc.oneof(...(anyOf as JsonSchema[]).map(valueOf));
    if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]));
    if (type === 'string') return fc.constantFrom('x', 'y', '');
    if (type === 'integer') return fc.integer({ min: minimum, max: maximum });
    if (type === 'number') return fc.constantFrom(-1, 0.5, 7);
    if (type === 'boolean') return fc.boolean();
    if (type === 'null') return fc.constant(null);
    if (type === 'array') return fc.array(valueOf(items as JsonSchema), { maxLength: 2 });
    if (properties === undefined)
      return fc.dictionary(fc.constantFrom('a', 'z'), valueOf(additionalProperties as JsonSchema));
    const fields = Object.entries(properties as Record<string, JsonSchema>).map(([name, one]) => [name, valueOf(one)]);
    return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: required as string[],
    });
  }
});

describe('this version and the previous one', () => {
  test('are compatible: each change is an addition or a listed compatible change', async () => {
    const found = [
      ...incompatibilities(await readPrevious('contract'), present),
      ...incompatibilities(await readPrevious('records'), recordsContract()),
    ];
    const isTolerated = (one: (typeof found)[number]) =>
      tolerated.some(({ kind, of, field }) => one.kind === kind && one.of === of && one.field === field);
    expect(found.filter((one) => !isTolerated(one)).map(describeIncompatibility)).toEqual([]);
    // An entry that matches nothing would hide a later change.
    const stale = tolerated.filter(
      ({ kind, of, field }) => !found.some((one) => one.kind === kind && one.of === of && one.field === field),
    );
    expect(stale).toEqual([]);
  });

  test('are reported as incompatible if a real message or record changes', () => {
    const kept = JSON.parse(keptContract(present)) as ComparedContract;
    expect(incompatibilities(kept, present)).toEqual([]);
    const records = JSON.parse(keptContract(recordsContract())) as ComparedContract;
    expect(incompatibilities(records, recordsContract())).toEqual([]);
    const text = JSON.stringify(kept).replace('"terminating","terminated"', '"terminated"');
    const reported = incompatibilities(JSON.parse(text) as ComparedContract, present);
    expect(reported.map(describeIncompatibility)).toEqual([
      'refused by the earlier: worker.fact.state.v1 state: may be "terminating", and has to be one of "syncing", "terminated", "finished"',
    ]);
    const older = JSON.stringify(records).replace('"terminating","terminated"', '"terminated"');
    expect(incompatibilities(JSON.parse(older) as ComparedContract, recordsContract())).toMatchObject([
      { kind: 'refused by the earlier', of: 'pod-workers.pods', field: 'machine.state' },
    ]);
  });
});

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

function mapOf(additionalProperties: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties };
}

function closed(properties: object): JsonSchema {
  return { ...object(properties), additionalProperties: false };
}
