import { base64Decode, base64Encode, BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Json } from '@kubus/kube-objects';
import { fieldsOf } from './types.ts';

/** The integers and texts of a message, by number: what the messages below consist of. */
function simple(bytes: Uint8Array): ReadonlyMap<number, number | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, number | Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.Varint) found.set(number, Number(reader.int64()));
    else if (wire === WireType.LengthDelimited) found.set(number, reader.bytes());
    else reader.skip(wire, number);
  }
  return found;
}

type Simple = ReadonlyMap<number, number | Uint8Array>;
const integer = (found: Simple, number: number) => Number(found.get(number) ?? 0);
const bytesOf = (found: Simple, number: number) => {
  const value = found.get(number);
  return value instanceof Uint8Array ? value : new Uint8Array();
};
const text = (found: Simple, number: number) => new TextDecoder().decode(bytesOf(found, number));

export const isPlain = (type: string): boolean => fieldsOf(type) === undefined;

export const isEmptyPlain = (type: string, value: Json): boolean =>
  value === null || value === '' || value === false || (value === 0 && type !== 'IntOrString');

/** @throws Error for what is no value of the type. */
export function decodePlain(type: string, reader: BinaryReader): Json {
  switch (type) {
    case 'string':
      return reader.string();
    case 'bool':
      return reader.bool();
    case 'int32':
      return reader.int32();
    case 'int64':
      return Number(reader.int64());
    case 'double':
      return reader.double();
    case 'bytes':
      return base64Encode(reader.bytes());
    case 'Quantity':
      return text(simple(reader.bytes()), 1);
    case 'IntOrString': {
      const found = simple(reader.bytes());
      return integer(found, 1) === 0 ? integer(found, 2) : text(found, 3);
    }
    case 'Time':
    case 'MicroTime': {
      const found = simple(reader.bytes());
      if (found.size === 0) return null;
      const seconds = new Date(integer(found, 1) * 1000).toISOString().slice(0, -'.000Z'.length);
      const micros = Math.trunc(integer(found, 2) / 1000);
      return type === 'Time' ? `${seconds}Z` : `${seconds}.${String(micros).padStart(6, '0')}Z`;
    }
    case 'Strings': {
      const parts: string[] = [];
      const inner = new BinaryReader(reader.bytes());
      while (inner.pos < inner.len) {
        const [number, wire] = inner.tag();
        if (number === 1) parts.push(inner.string());
        else inner.skip(wire, number);
      }
      return parts;
    }
    case 'RawExtension':
    case 'FieldsV1':
      return JSON.parse(text(simple(reader.bytes()), 1)) as Json;
    default:
      throw new Error(`the type ${type} is unknown`);
  }
}

const asString = (value: Json | undefined) =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
/** What does not fit, such as a text, counts as 0. */
const asInteger = (value: Json | undefined, bits: 32 | 64) => {
  const number = typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
  return bits === 32 ? Math.trunc(number) | 0 : number;
};

function base64Of(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch {
    return new Uint8Array();
  }
}

/** Writes a value with its number; what is not of the type counts as empty. */
export function encodePlain(writer: BinaryWriter, number: number, type: string, value: Json | undefined): void {
  switch (type) {
    case 'string':
      writer.tag(number, WireType.LengthDelimited).string(asString(value));
      return;
    case 'bool':
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case 'int32':
      writer.tag(number, WireType.Varint).int32(asInteger(value, 32));
      return;
    case 'int64':
      writer.tag(number, WireType.Varint).int64(asInteger(value, 64));
      return;
    case 'double':
      writer.tag(number, WireType.Bit64).double(typeof value === 'number' ? value : 0);
      return;
    case 'bytes':
      writer.tag(number, WireType.LengthDelimited).bytes(base64Of(asString(value)));
      return;
    default:
      writer.tag(number, WireType.LengthDelimited).bytes(messageOf(type, value));
  }
}

function messageOf(type: string, value: Json | undefined): Uint8Array {
  const writer = new BinaryWriter();
  switch (type) {
    case 'Quantity':
      return writer.tag(1, WireType.LengthDelimited).string(asString(value)).finish();
    case 'IntOrString': {
      writer.tag(1, WireType.Varint).int64(typeof value === 'string' ? 1 : 0);
      writer.tag(2, WireType.Varint).int32(asInteger(value, 32));
      return writer
        .tag(3, WireType.LengthDelimited)
        .string(typeof value === 'string' ? value : '')
        .finish();
    }
    case 'Time':
    case 'MicroTime': {
      const ms = Date.parse(asString(value));
      if (Number.isNaN(ms)) return new Uint8Array();
      writer.tag(1, WireType.Varint).int64(Math.floor(ms / 1000));
      return writer
        .tag(2, WireType.Varint)
        .int32(nanos(type, asString(value)))
        .finish();
    }
    case 'Strings':
      for (const one of Array.isArray(value) ? (value as readonly Json[]) : []) {
        writer.tag(1, WireType.LengthDelimited).string(asString(one));
      }
      return writer.finish();
    default:
      // RawExtension and FieldsV1: the JSON itself.
      return value === undefined || value === null
        ? new Uint8Array()
        : writer.tag(1, WireType.LengthDelimited).string(JSON.stringify(value)).finish();
  }
}

/** Only a time with microseconds has them. */
function nanos(type: string, time: string): number {
  const [, digits = ''] = /\.(\d{1,6})/.exec(time) ?? [];
  return type === 'Time' ? 0 : Number(digits.padEnd(6, '0')) * 1000;
}
