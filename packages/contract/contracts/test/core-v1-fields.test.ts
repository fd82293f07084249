import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { intOrString } from '../src/pod/fields.ts';
import { podSchema } from '../src/pod/index.ts';

interface Field {
  readonly type: string;
  readonly optional: boolean;
}

/** Object name to its fields, as in the table of the API. */
const table = new Map<string, Map<string, Field>>();
for (const line of readFileSync(new URL('core-v1-fields.tsv', import.meta.url), 'utf8').split('\n')) {
  const [object, field, type, presence] = line.split('\t');
  if (object === undefined || field === undefined || type === undefined) continue;
  const fields = table.get(object) ?? new Map<string, Field>();
  table.set(object, fields.set(field, { type, optional: presence === 'optional' }));
}

/** All deviations of `schema` from the type that the table names, as `path: what`. */
function differences(schema: unknown, type: string, path: string): string[] {
  if (type.endsWith('[]')) {
    if (!(schema instanceof z.ZodArray)) return [`${path}: not a list`];
    return differences(schema.element, type.slice(0, -2), `${path}[]`);
  }
  const fields = table.get(type);
  if (fields === undefined) return isScalar(schema, type) ? [] : [`${path}: not ${type}`];
  if (!(schema instanceof z.ZodObject)) return [`${path}: not an object`];
  const shape: Readonly<Record<string, unknown>> = schema.shape;
  const found = Object.keys(shape)
    .filter((name) => !fields.has(name))
    .map((name) => `${path}.${name}: not in the API`);
  for (const [name, field] of fields) {
    const at = `${path}.${name}`;
    const member = shape[name];
    if (member === undefined) {
      found.push(`${at}: missing`);
      continue;
    }
    if (!(member instanceof z.ZodOptional) === field.optional)
      found.push(`${at}: ${field.optional ? 'required' : 'optional'}`);
    found.push(...differences(bare(member), field.type, at));
  }
  return found;
}

function bare(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : schema;
}

function isScalar(schema: unknown, type: string): boolean {
  if (type === 'string' || type === 'time') return schema instanceof z.ZodString;
  if (type === 'number') return schema instanceof z.ZodNumber;
  if (type === 'boolean') return schema instanceof z.ZodBoolean;
  if (type === 'map') return schema instanceof z.ZodRecord && schema.valueType instanceof z.ZodString;
  if (type === 'any') return schema instanceof z.ZodUnknown;
  return type === 'intOrString' && schema === intOrString;
}

describe('the pod schema', () => {
  test('has exactly the fields and types of Kubernetes 1.36, with the identity of a pod on a node required', () => {
    expect(table.size).toBeGreaterThan(100);
    expect(differences(podSchema, 'Pod', 'pod')).toEqual([
      'pod.metadata: required',
      'pod.metadata.name: required',
      'pod.metadata.namespace: required',
      'pod.metadata.uid: required',
      'pod.spec: required',
    ]);
  });
});
