import { readFileSync } from 'node:fs';
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { compiled } from './compiled.ts';

/** The rows of a table of the published interface, without its head line. */
function table(name: string): string[] {
  const text = readFileSync(new URL(`tables/${name}.tsv`, import.meta.url), 'utf8');
  return text.split('\n').slice(1, -1).sort();
}

function valueType(field: { scalar?: ScalarType; message?: DescMessage; enum?: DescEnum }): string {
  return field.message?.name ?? field.enum?.name ?? ScalarType[field.scalar ?? 0]?.toLowerCase() ?? '?';
}

function typeText(field: DescField): string {
  return field.fieldKind === 'map'
    ? `map<${ScalarType[field.mapKey].toLowerCase()},${valueType(field)}>`
    : valueType(field);
}

function fieldRows(message: DescMessage): string[] {
  if (message.fields.length === 0) {
    return [[message.name, '', '', '', '', ''].join('\t')];
  }
  return message.fields.map((field) => {
    const presence = field.proto.proto3Optional ? 'optional' : '';
    const label = field.fieldKind === 'list' ? 'repeated' : presence;
    return [message.name, field.number, field.name, typeText(field), label, field.oneof?.name ?? ''].join('\t');
  });
}

/** `SecurityProfile.ProfileType` for a nested enum. */
const qualified = (desc: DescEnum) => desc.typeName.slice('runtime.v1.'.length);

describe('runtime/v1/api.proto against the tables of the published interface', () => {
  const file = compiled().getFile('runtime/v1/api.proto');
  if (file === undefined) {
    throw new Error('runtime/v1/api.proto is not part of the module');
  }

  it('is proto3 in package runtime.v1, without extensions and nested messages', () => {
    expect(file.proto.syntax).toBe('proto3');
    expect(file.proto.package).toBe('runtime.v1');
    expect(file.extensions).toEqual([]);
    expect(file.messages.flatMap((message) => message.nestedMessages.map(({ typeName }) => typeName))).toEqual([]);
  });

  it('has every message and field: number, name, type, label and oneof', () => {
    expect(file.messages.flatMap(fieldRows).sort()).toEqual(table('fields'));
  });

  it('has every enum and value', () => {
    const enums = [...file.enums, ...file.messages.flatMap((message) => message.nestedEnums)];
    const rows = enums.flatMap((desc) =>
      desc.values.map((value) => [qualified(desc), value.name, value.number].join('\t')),
    );
    expect(rows.sort()).toEqual(table('enums'));
  });

  it('has every method', () => {
    const rows = file.services.flatMap((service) =>
      service.methods.map((method) => {
        const kind = method.methodKind === 'server_streaming' ? 'server-stream' : method.methodKind;
        return [service.name, method.name, method.input.name, method.output.name, kind].join('\t');
      }),
    );
    expect(rows.sort()).toEqual(table('methods'));
  });
});
