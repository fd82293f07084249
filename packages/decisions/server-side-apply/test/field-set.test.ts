import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@kubus/kube-objects';
import fc from 'fast-check';
import { difference, fieldSet, intersection, pathsOf, pathText, union } from '../src/field-set.ts';
import { decodeFields, encodeFields } from '../src/fields-v1.ts';
import { fieldElement, keyElement, valueElement } from '../src/path-element.ts';

const element = fc.oneof(
  fc.constantFrom('a', 'b', '.', '__proto__').map(fieldElement),
  fc.constantFrom(1, 'x', true, '<&>').map(valueElement),
  fc.record({ name: fc.constantFrom('p', 'q'), port: fc.integer({ min: 1, max: 2 }) }).map(keyElement),
);
const set = fc
  .array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 8 })
  .map((paths) => fieldSet(...paths));
const texts = (fields: ReturnType<typeof fieldSet>): readonly string[] => pathsOf(fields).map(pathText).toSorted();

describe('sets of fields', () => {
  test('are what their members are', () => {
    fc.assert(
      fc.property(set, set, (one, other) => {
        const [ours, theirs] = [texts(one), texts(other)];
        expect(texts(union(one, other))).toEqual([...new Set([...ours, ...theirs])].toSorted());
        expect(texts(intersection(one, other))).toEqual(ours.filter((path) => theirs.includes(path)));
        expect(texts(difference(one, other))).toEqual(ours.filter((path) => !theirs.includes(path)));
      }),
    );
  });

  test('are the same after FieldsV1', () => {
    fc.assert(
      fc.property(set, (fields) => {
        const text = JSON.stringify(encodeFields(fields));
        expect(texts(decodeFields(JSON.parse(text) as JsonObject))).toEqual(texts(fields));
      }),
    );
  });

  test('are written in the order of the reference', () => {
    const fields = fieldSet(
      [valueElement('b')],
      [valueElement(2)],
      [keyElement({ port: 80, name: 'a' })],
      [fieldElement('z')],
      [fieldElement('a')],
      [fieldElement('a'), fieldElement('b')],
    );
    expect(JSON.stringify(encodeFields(fields))).toBe(
      '{"f:a":{".":{},"f:b":{}},"f:z":{},"k:{\\"name\\":\\"a\\",\\"port\\":80}":{},"v:2":{},"v:\\"b\\"":{}}',
    );
  });

  test.each([
    ['no kind of step', { a: {} }, 'key must be 2 characters long:'],
    ['a step without colon', { abc: {} }, 'missing colon: abc'],
    ['a key that is no object', { 'k:1': {} }, 'no keys: k:1'],
  ])('refuses %s', (_, fields, message) => {
    expect(() => decodeFields(fields)).toThrow(message);
  });

  test('leaves out kinds of steps of a later version', () => {
    expect(texts(decodeFields({ 'x:1': {}, 'f:a': {} }))).toEqual(['.a']);
  });

  test('refuses fields that are deeper than any object', () => {
    const deep = JSON.parse(`${'{"f:a":'.repeat(1000)}{}${'}'.repeat(1000)}`) as JsonObject;
    expect(() => decodeFields(deep)).toThrow('fields are deeper than 64');
  });
});
