// From the descriptor of one .proto file (a FileDescriptorProto as JSON) to TypeScript in the proto3 JSON mapping:
// an interface and a zod schema per message, a string union per enum, and the table of methods.

const HEADER = '// Written by scripts/generate.mjs from src/runtime/v1/api.proto. Do not edit.\n';

/** proto scalar -> TypeScript type and schema (schemas are in src/json-form.ts). */
const SCALARS = {
  TYPE_STRING: ['string', 'j.text'],
  TYPE_BYTES: ['string', 'j.base64'],
  TYPE_BOOL: ['boolean', 'j.bool'],
  TYPE_INT32: ['number', 'j.int32'],
  TYPE_UINT32: ['number', 'j.uint32'],
  TYPE_INT64: ['string', 'j.int64'],
  TYPE_UINT64: ['string', 'j.uint64'],
  TYPE_DOUBLE: ['number', 'j.double'],
};

/** Numbers of fields in descriptor.proto: a path of them and of indexes says what a comment belongs to. */
const FILE_MESSAGE = 4;
const FILE_ENUM = 5;
const MESSAGE_FIELD = 2;

/** `.runtime.v1.SecurityProfile.ProfileType` -> `ProfileType`: nested names do not clash in CRI. */
const localName = (typeName) => typeName.slice(typeName.lastIndexOf('.') + 1);

function commentsByPath(file) {
  const comments = new Map();
  for (const { path, leadingComments } of file.sourceCodeInfo?.location ?? []) {
    if (leadingComments !== undefined) {
      const text = leadingComments.split('\n').map((line) => line.trim());
      comments.set(path.join('.'), text.join(' ').trim());
    }
  }
  return (...path) => comments.get(path.join('.'));
}

const docLine = (comment, indent = '') => (comment === undefined ? '' : `${indent}/** ${comment} */\n`);

/** The map's value field when `field` is a map, otherwise undefined. */
function mapValueOf(message, field) {
  const entry = message.nestedType?.find(
    (nested) => nested.options?.mapEntry && nested.name === localName(field.typeName ?? ''),
  );
  return entry?.field.find(({ name }) => name === 'value');
}

function typeOf(field) {
  switch (field.type) {
    case 'TYPE_MESSAGE':
    case 'TYPE_ENUM':
      return [localName(field.typeName), `${localName(field.typeName)}Schema`];
    default: {
      const scalar = SCALARS[field.type];
      if (scalar === undefined) {
        throw new Error(`${field.name}: ${field.type} has no JSON form here yet`);
      }
      return scalar;
    }
  }
}

/** TypeScript type and schema of a field, its label included. */
function formOf(message, field) {
  const mapValue = mapValueOf(message, field);
  if (mapValue !== undefined) {
    const [type, schema] = typeOf(mapValue);
    return [`Record<string, ${type}>`, `j.map(${schema})`];
  }
  const [type, schema] = typeOf(field);
  return field.label === 'LABEL_REPEATED' ? [`${type}[]`, `j.list(${schema})`] : [type, schema];
}

function enumForm(definition, comment) {
  const names = definition.value.map(({ name }) => `'${name}'`);
  return [
    `${docLine(comment)}export type ${definition.name} = ${names.join(' | ')} | Unrecognized;`,
    `export const ${definition.name}Schema: z.ZodType<${definition.name}> = j.enumeration([${names.join(', ')}]);`,
  ].join('\n');
}

function messageForm(message, commentOf, messagePath) {
  const comment = docLine(commentOf(...messagePath));
  const fields = message.field ?? [];
  const schema = `export const ${message.name}Schema: z.ZodType<${message.name}> = j.message(() => ({`;
  if (fields.length === 0) {
    return `${comment}export type ${message.name} = Record<string, never>;\n${schema}}));`;
  }
  const members = fields.map(
    (field, index) =>
      `${docLine(commentOf(...messagePath, MESSAGE_FIELD, index), '  ')}  ${field.jsonName}?: ${formOf(message, field)[0]};`,
  );
  const entries = fields.map((field) => `  ${field.jsonName}: ${formOf(message, field)[1]},`);
  return `${comment}export interface ${message.name} {\n${members.join('\n')}\n}\n${schema}\n${entries.join('\n')}\n}));`;
}

function methodsOf(file) {
  return file.service.flatMap((service) =>
    service.method.map((method) => ({
      name: method.name,
      service: service.name,
      kind: method.serverStreaming ? 'server-stream' : 'unary',
      request: localName(method.inputType),
      response: localName(method.outputType),
    })),
  );
}

function methodTable(methods) {
  const types = methods.map(
    (m) => `  ${m.name}: { request: ${m.request}; response: ${m.response}; kind: '${m.kind}' };`,
  );
  const values = methods.map(
    (m) =>
      `  ${m.name}: { service: '${m.service}', kind: '${m.kind}', request: ${m.request}Schema, response: ${m.response}Schema },`,
  );
  return `/** Every method: \`CriMethods[M]['request']\` is the JSON form of what M takes. */
export interface CriMethods {
${types.join('\n')}
}

export type CriMethod = keyof CriMethods;

/** The methods of one kind. */
type MethodsOfKind<K> = { [M in CriMethod]: CriMethods[M]['kind'] extends K ? M : never }[CriMethod];
export type UnaryCriMethod = MethodsOfKind<'unary'>;
export type StreamCriMethod = MethodsOfKind<'server-stream'>;

export interface CriMethodDeclaration<M extends CriMethod> {
  readonly service: 'RuntimeService' | 'ImageService';
  readonly kind: CriMethods[M]['kind'];
  readonly request: z.ZodType<CriMethods[M]['request']>;
  readonly response: z.ZodType<CriMethods[M]['response']>;
}

export const criMethods: { readonly [M in CriMethod]: CriMethodDeclaration<M> } = {
${values.join('\n')}
};`;
}

/** The module of types, schemas and methods. Throws where a field has no JSON form. */
export function criJsonForm(file) {
  const commentOf = commentsByPath(file);
  const parts = [
    `${HEADER}import type * as z from 'zod';\nimport * as j from '../json-form.ts';\nimport type { Unrecognized } from '../json-form.ts';`,
    ...file.enumType.map((definition, index) => enumForm(definition, commentOf(FILE_ENUM, index))),
    ...file.messageType.flatMap((message, index) => [
      ...(message.enumType ?? []).map((definition) => enumForm(definition, undefined)),
      messageForm(message, commentOf, [FILE_MESSAGE, index]),
    ]),
    methodTable(methodsOf(file)),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The module that joins each method to its codecs. */
export function criCodecs(file) {
  const entries = methodsOf(file).map(
    (m) => `  ${m.name}: methodCodec('/${file.package}.${m.service}/${m.name}', api.${m.request}, api.${m.response}),`,
  );
  return `${HEADER}import * as api from './grpc/runtime/v1/api.ts';
import { type CriCodecs, methodCodec } from '../method-codec.ts';

export const criCodecs: CriCodecs = {
${entries.join('\n')}
};
`;
}
