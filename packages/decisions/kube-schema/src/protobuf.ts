import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { asObject, asText, entriesOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { decodePlain, encodePlain, isEmptyPlain, isPlain } from './protobuf-values.ts';
import { type Field, fieldsOf, typeOfObject } from './types.ts';

/** Before each object. Source: k8s.io/apimachinery, runtime/serializer/protobuf. */
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

const LIST: readonly Omit<Field, 'type'>[] = [
  { name: 'metadata', number: 1, written: 'always', inline: false, shape: 'one' },
  { name: 'items', number: 2, written: 'always', inline: false, shape: 'list' },
];

/** Thrown for a body that is no object in protobuf of a known kind. */
export class ProtobufError extends Error {
  /** @param cause what the reader of the wire format says. */
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ProtobufError';
  }
}

function isProtobuf(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

/** The fields of an object, or of a list of such objects; undefined: of an unknown kind. */
function objectFields(apiVersion: string, kind: string): readonly Field[] | undefined {
  const type = typeOfObject({ apiVersion, kind });
  if (type !== undefined) return fieldsOf(type);
  const item = kind.endsWith('List') ? typeOfObject({ apiVersion, kind: kind.slice(0, -'List'.length) }) : undefined;
  return item === undefined
    ? undefined
    : LIST.map((field) => ({ ...field, type: field.name === 'items' ? item : 'meta/v1.ListMeta' }));
}

/**
 * An object as JSON, from its protobuf form (`application/vnd.kubernetes.protobuf`).
 *
 * @throws ProtobufError.
 */
export function decodeObject(bytes: Uint8Array): JsonObject {
  if (!isProtobuf(bytes))
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  try {
    const unknown = messageParts(bytes.subarray(MAGIC.length));
    const type = messageParts(last(unknown, 1) ?? new Uint8Array());
    const text = (number: number) => textOf(last(type, number));
    const [apiVersion, kind] = [text(1), text(2)];
    const fields = objectFields(apiVersion, kind);
    if (fields === undefined) throw new ProtobufError(`no kind "${kind}" is registered for version "${apiVersion}"`);
    return { apiVersion, kind, ...decodeFields(fields, last(unknown, 2) ?? new Uint8Array()) };
  } catch (error) {
    if (error instanceof ProtobufError) throw error;
    throw new ProtobufError(`unable to decode the protobuf message: ${String(error)}`, error);
  }
}

type Parts = readonly { readonly number: number; readonly bytes: Uint8Array }[];

/** The length-delimited parts of a message. */
function messageParts(bytes: Uint8Array): Parts {
  const reader = new BinaryReader(bytes);
  const parts: { number: number; bytes: Uint8Array }[] = [];
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.LengthDelimited) parts.push({ number, bytes: reader.bytes() });
    else reader.skip(wire, number);
  }
  return parts;
}

const textOf = (bytes: Uint8Array | undefined) => (bytes === undefined ? '' : new TextDecoder().decode(bytes));

function last(parts: Parts, number: number): Uint8Array | undefined {
  return parts.findLast((part) => part.number === number)?.bytes;
}

function decodeFields(fields: readonly Field[], bytes: Uint8Array): JsonObject {
  const reader = new BinaryReader(bytes);
  const byNumber = new Map(fields.map((field) => [field.number, field]));
  const found = new Map<Field, Json[]>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const field = byNumber.get(number);
    if (field === undefined) {
      reader.skip(wire, number);
      continue;
    }
    const values = found.get(field) ?? [];
    values.push(field.shape === 'map' ? decodeEntry(field, reader.bytes()) : decodeValue(field.type, reader));
    found.set(field, values);
  }
  return Object.fromEntries(fields.flatMap((field) => jsonOf(field, found.get(field) ?? [])));
}

function decodeValue(type: string, reader: BinaryReader): Json {
  const fields = fieldsOf(type);
  return fields === undefined ? decodePlain(type, reader) : decodeFields(fields, reader.bytes());
}

function decodeEntry({ type }: Field, bytes: Uint8Array): Json {
  const reader = new BinaryReader(bytes);
  let [key, value]: [string, Json] = ['', emptyValue(type)];
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) key = reader.string();
    else if (number === 2) value = decodeValue(type, reader);
    else reader.skip(wire, number);
  }
  return [key, value];
}

function emptyValue(type: string): Json {
  const fields = fieldsOf(type);
  if (fields !== undefined) return decodeFields(fields, new Uint8Array());
  if (type === 'string' || type === 'bytes') return '';
  if (type === 'bool') return false;
  if (type === 'Quantity') return '0';
  return /^(int|uint|double|IntOrString)/.test(type) ? 0 : null;
}

/** What JSON has of a field, by the rules of Go's encoder. */
function jsonOf(field: Field, values: readonly Json[]): readonly (readonly [string, Json])[] {
  const { name, type, shape, written } = field;
  const value = values.at(-1);
  if (field.inline) return entriesOf(asObject(value));
  if (shape !== 'one') {
    if (values.length === 0) return written === 'always' ? [[name, null]] : [];
    if (shape === 'list') return [[name, values]];
    return [[name, Object.fromEntries(values as readonly (readonly [string, Json])[])]];
  }
  if (written === 'if set') return value === undefined ? [] : [[name, value]];
  const own = value ?? emptyValue(type);
  const empty = isPlain(type) ? isEmptyPlain(type, own) : entriesOf(asObject(own)).length === 0;
  return written === 'unless empty' && empty ? [] : [[name, own]];
}

/** An object in its protobuf form; undefined: of a kind that has none here. */
export function encodeObject(object: JsonObject): Uint8Array | undefined {
  const [apiVersion, kind] = [asText(object['apiVersion']), asText(object['kind'])];
  const fields = objectFields(apiVersion, kind);
  if (fields === undefined) return undefined;
  const raw = encodeFields(fields, object);
  const type = new BinaryWriter().tag(1, WireType.LengthDelimited).string(apiVersion);
  type.tag(2, WireType.LengthDelimited).string(kind);
  const unknown = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(type.finish());
  unknown.tag(2, WireType.LengthDelimited).bytes(raw);
  // Content encoding and type: none.
  for (const number of [3, 4]) unknown.tag(number, WireType.LengthDelimited).string('');
  return joined(MAGIC, unknown.finish());
}

/** An event of a watch with the length before it; undefined: of a kind that has no protobuf form here. */
export function encodeWatchEvent(type: string, object: JsonObject): Uint8Array | undefined {
  const raw = encodeObject(object);
  if (raw === undefined) return undefined;
  const inner = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(raw).finish();
  const event = new BinaryWriter().tag(1, WireType.LengthDelimited).string(type);
  const message = event.tag(2, WireType.LengthDelimited).bytes(inner).finish();
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, message.length);
  return joined(length, message);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

/** As Go's encoder writes them: by number, and a plain value that is not set as an empty one, unless it is optional. */
function encodeFields(fields: readonly Field[], object: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  for (const field of fields) {
    const value = field.inline ? object : object[field.name];
    if (field.shape === 'list') {
      if (Array.isArray(value)) for (const item of value as readonly Json[]) encodeValue(writer, field, item);
    } else if (field.shape === 'map') {
      for (const [key, item] of sorted(value)) {
        const entry = new BinaryWriter().tag(1, WireType.LengthDelimited).string(key);
        encodeValue(entry, { ...field, number: 2 }, item);
        writer.tag(field.number, WireType.LengthDelimited).bytes(entry.finish());
      }
    } else if (!isAbsent(field, value)) {
      encodeValue(writer, field, value);
    }
  }
  return writer.finish();
}

const isAbsent = ({ written, type }: Field, value: Json | undefined) =>
  (value === undefined || value === null) && (written === 'if set' || ['bytes', 'FieldsV1', 'Strings'].includes(type));

function sorted(map: Json | undefined): (readonly [string, Json])[] {
  return isObject(map) ? [...entriesOf(map)].sort(([a], [b]) => (a < b ? -1 : 1)) : [];
}

function encodeValue(writer: BinaryWriter, { type, number }: Field, value: Json | undefined): void {
  const fields = fieldsOf(type);
  if (fields === undefined) encodePlain(writer, number, type, value);
  else writer.tag(number, WireType.LengthDelimited).bytes(encodeFields(fields, asObject(value)));
}
