import { readFileSync } from 'node:fs';
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  ScalarType,
} from '@bufbuild/protobuf';

/** The rows of a table of a published interface, without its head line: `tables/<folder>/<name>.tsv`. */
export function table(folder: string, name: 'fields' | 'enums' | 'methods'): string[] {
  const text = readFileSync(new URL(`tables/${folder}/${name}.tsv`, import.meta.url), 'utf8');
  return text.split('\n').slice(1, -1).sort();
}

/** Messages, those within messages too. */
function messagesOf({ messages }: DescFile): DescMessage[] {
  const withNested = (message: DescMessage): DescMessage[] => [message, ...message.nestedMessages.flatMap(withNested)];
  return messages.flatMap(withNested);
}

/** A row for each field: its message, number, name, type, label and oneof. A message without fields has one, too. */
export function fieldRows(file: DescFile): string[] {
  return messagesOf(file).flatMap(rowsOfMessage).sort();
}

/** A row for each value of each enum: the enum, the name, the number. */
export function enumRows(file: DescFile): string[] {
  const enums = [...file.enums, ...messagesOf(file).flatMap(({ nestedEnums }) => nestedEnums)];
  const rows = enums.flatMap((desc) => desc.values.map(({ name, number }) => [nameOf(desc), name, number].join('\t')));
  return rows.sort();
}

/** A row for each method: its service, name, request, response and kind. */
export function methodRows({ services }: DescFile): string[] {
  const rows = services.flatMap(({ name, methods }) =>
    methods.map((method) =>
      [name, method.name, nameOf(method.input), nameOf(method.output), kindOf(method)].join('\t'),
    ),
  );
  return rows.sort();
}

function rowsOfMessage(message: DescMessage): string[] {
  const name = nameOf(message);
  if (message.fields.length === 0) return [[name, '', '', '', '', ''].join('\t')];
  return message.fields.map((field) => {
    const presence = field.proto.proto3Optional ? 'optional' : '';
    const label = field.fieldKind === 'list' ? 'repeated' : presence;
    return [name, field.number, field.name, typeText(field), label, field.oneof?.name ?? ''].join('\t');
  });
}

/** Without the package: `SecurityProfile.ProfileType` for one within a message. */
function nameOf({ typeName, file }: DescMessage | DescEnum): string {
  return typeName.slice(file.proto.package.length + 1);
}

function valueType(field: { scalar?: ScalarType; message?: DescMessage; enum?: DescEnum }): string {
  const desc = field.message ?? field.enum;
  return desc === undefined ? (ScalarType[field.scalar ?? 0]?.toLowerCase() ?? '?') : nameOf(desc);
}

function typeText(field: DescField): string {
  return field.fieldKind === 'map'
    ? `map<${ScalarType[field.mapKey].toLowerCase()},${valueType(field)}>`
    : valueType(field);
}

function kindOf({ methodKind }: DescMethod): string {
  return methodKind === 'server_streaming' ? 'server-stream' : methodKind;
}
