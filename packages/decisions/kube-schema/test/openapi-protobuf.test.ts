import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { expect, test } from '@jest/globals';
import { asObject, type Json, type JsonObject, resources, reviews } from '@kubus/kube-objects';
import { encodeOpenApiV2, openApiV2 } from '../src/index.ts';

/**
 * gnostic's messages: by the fields' numbers, the names that JSON has, and the messages. `[]`: a list. `%`: a list of names with values,
 * which are members in JSON. `=`: in JSON the value stands for the message.
 */
const MESSAGES: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  Document: { 1: 'swagger', 2: 'info Info', 8: 'paths Paths', 9: 'definitions Definitions' },
  Info: { 1: 'title', 2: 'version' },
  Paths: { 2: '% PathItem' },
  PathItem: { 2: 'get Operation', 8: 'patch Operation' },
  Operation: { 8: 'parameters[] ParametersItem', 9: 'responses Responses', 13: '% Any' },
  ParametersItem: { 1: '= Parameter' },
  Parameter: { 2: '= NonBodyParameter' },
  NonBodyParameter: { 3: '= QueryParameterSubSchema' },
  QueryParameterSubSchema: { 2: 'in', 4: 'name', 6: 'type', 20: 'uniqueItems' },
  Responses: { 1: '% ResponseValue' },
  ResponseValue: { 1: '= Response' },
  Response: { 1: 'description', 2: 'schema Item' },
  Definitions: { 1: '% Schema' },
  Schema: {
    ...{ 1: '$ref', 2: 'format', 4: 'description', 19: 'required[]', 21: 'additionalProperties Item' },
    ...{ 22: 'type TypeItem', 23: 'items Item', 25: 'properties Definitions', 31: '% Any' },
  },
  // SchemaItem, AdditionalPropertiesItem, ItemsItem.
  Item: { 1: '= Schema' },
  TypeItem: { 1: '=' },
  Any: { 2: '=' },
};

function decoded(type: string, bytes: Uint8Array): Json {
  const found: Record<string, Json> = {};
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const [name = '', of] = (MESSAGES[type]?.[number] ?? `${type} has no field ${number}`).split(' ');
    const value = wire === WireType.LengthDelimited ? reader.bytes() : reader.bool();
    const read = (part: boolean | Uint8Array): Json => {
      if (typeof part === 'boolean') return part;
      return of === undefined ? new TextDecoder().decode(part) : decoded(of, part);
    };
    if (name === '=') return type === 'Any' ? (JSON.parse(read(value) as string) as Json) : read(value);
    if (name === '%') {
      const entry = new BinaryReader(value as Uint8Array);
      entry.tag();
      const key = entry.string();
      entry.tag();
      found[key] = read(entry.bytes());
    } else if (name.endsWith('[]')) {
      const list = name.slice(0, -2);
      found[list] = [...((found[list] ?? []) as readonly Json[]), read(value)];
    } else {
      found[name] = read(value);
    }
  }
  return found;
}

test('OpenAPI 2 in protobuf says what it says in JSON', () => {
  const document = openApiV2([...resources, ...reviews]);
  const read = decoded('Document', encodeOpenApiV2(document)) as JsonObject;
  expect(Object.keys(asObject(read['definitions'])).length).toBeGreaterThan(200);
  expect(read).toEqual(document);
});
