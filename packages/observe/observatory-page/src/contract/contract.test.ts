import { describe, expect, test } from '@jest/globals';
import { asyncApiDocument } from '@kubus/contract-document';
import { readContract } from './contract-types.ts';
import { fieldsOf, schemaWords } from './schema-words.ts';

const contract = readContract(asyncApiDocument('1.2.3', 'the rules'));
const typeOf = (type: string) => {
  const found = contract.types.find((one) => one.type === type);
  if (found === undefined) throw new Error(`the contract has no ${type}`);
  return found;
};

describe('the contract of a node', () => {
  test('names the publishers and readers of each type', () => {
    expect(contract).toMatchObject({ version: '1.2.3', protocol: 'the rules' });
    const status = typeOf('worker.fact.status/1');
    expect(status).toMatchObject({ area: 'worker', kind: 'fact', senders: ['pod-workers'] });
    expect(status.receivers).toContain('sync-loop');
    expect(status.about).toContain('conditions');
  });

  test('has each type once, facts, commands and events', () => {
    const types = contract.types.map(({ type }) => type);
    expect(new Set(types).size).toBe(types.length);
    expect(new Set(contract.types.map(({ kind }) => kind))).toEqual(new Set(['fact', 'cmd', 'event']));
  });

  test('has the result of a command beside its request', () => {
    const run = typeOf('runtime.cmd.RunPodSandbox/1');
    expect(fieldsOf(run.payload, contract.resolve).length).toBeGreaterThan(0);
    expect(run.result).toBeDefined();
    expect(typeOf('worker.fact.status/1').result).toBeUndefined();
  });

  test('has nested fields', () => {
    const status = fieldsOf(typeOf('worker.fact.status/1').payload, contract.resolve).find(
      ({ name }) => name === 'status',
    );
    expect(status?.required).toBe(true);
    const inner = fieldsOf(status?.schema, contract.resolve).map(({ name }) => name);
    expect(inner).toEqual(expect.arrayContaining(['phase', 'conditions']));
  });
});

test.each([undefined, null, 4, {}, { channels: { x: null } }])(
  'an invalid document such as %j has no types',
  (document) => {
    expect(readContract(document).types).toEqual([]);
  },
);

const same = (schema: unknown): unknown => schema;

test.each([
  [{ type: 'string' }, 'string'],
  [{ type: ['string', 'null'] }, 'string or null'],
  [{ enum: ['a', 'b'] }, '"a" or "b"'],
  [{ const: 3 }, '3'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string or null'],
  [{ allOf: [{ type: 'object' }] }, 'object'],
  [{ type: 'array', items: { type: 'integer' } }, 'list of integer'],
  [{ type: 'object', additionalProperties: { type: 'string' } }, 'map of string'],
  [{}, 'anything'],
])('the schema %j is shown as %s', (schema, words) => {
  expect(schemaWords(schema, same)).toBe(words);
});

test('a circular reference terminates', () => {
  const circle = readContract({ components: { schemas: { A: { $ref: '#/components/schemas/A' } } } });
  expect(schemaWords({ $ref: '#/components/schemas/A' }, circle.resolve)).toBe('anything');
});
