import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { asList, asObject, asText, entriesOf, type Json, type JsonObject } from '@kubus/kube-objects';

/** Writes a value as the field of that number. */
type Write = (writer: BinaryWriter, number: number, value: Json) => void;

/** The fields of a message by the names that JSON has for them, in the order of their numbers. */
type Message = Readonly<Record<string, readonly [number: number, write: Write]>>;

const text: Write = (writer, number, value) => void writer.tag(number, WireType.LengthDelimited).string(asText(value));
const flag: Write = (writer, number, value) => void writer.tag(number, WireType.Varint).bool(value === true);
/** What these documents leave to whom they are for: YAML, of which JSON is a part. */
const any: Write = (writer, number, value) => part(writer, number, (within) => text(within, 2, JSON.stringify(value)));

function part(writer: BinaryWriter, number: number, write: (within: BinaryWriter) => void): void {
  const within = new BinaryWriter();
  write(within);
  writer.tag(number, WireType.LengthDelimited).bytes(within.finish());
}

/** A message with the value in its field of a number: a choice, or a list that cannot stand for itself. */
const choice =
  (inner: number, write: Write): Write =>
  (writer, number, value) =>
    part(writer, number, (within) => write(within, inner, value));

const list =
  (write: Write): Write =>
  (writer, number, value) => {
    for (const one of asList(value)) write(writer, number, one);
  };

/** A map: a list of messages with a key and its value. */
const named =
  (write: Write): Write =>
  (writer, number, value) => {
    for (const [key, one] of entriesOf(asObject(value))) {
      part(writer, number, (within) => {
        text(within, 1, key);
        write(within, 2, one);
      });
    }
  };

function write(writer: BinaryWriter, message: Message, value: JsonObject): void {
  for (const [name, [number, field]] of Object.entries(message)) {
    const own = value[name];
    if (own !== undefined) field(writer, number, own);
  }
}

/** @param extensions the number of the list of its members that begin with `x-`, if the message has it. */
const message =
  (fields: Message, extensions?: number): Write =>
  (writer, number, value) => {
    const object = asObject(value);
    part(writer, number, (within) => {
      write(within, fields, object);
      if (extensions === undefined) return;
      const own = entriesOf(object).filter(([name]) => name.startsWith('x-'));
      named(any)(within, extensions, Object.fromEntries(own));
    });
  };

const schema: Write = (writer, number, value) => message(SCHEMA, 31)(writer, number, value);

const SCHEMA: Message = {
  $ref: [1, text],
  format: [2, text],
  description: [4, text],
  required: [19, list(text)],
  additionalProperties: [21, choice(1, schema)],
  type: [22, choice(1, text)],
  items: [23, choice(1, schema)],
  properties: [25, choice(1, named(schema))],
};

const queryParameter = message({
  in: [2, text],
  name: [4, text],
  type: [6, text],
  uniqueItems: [20, flag],
});

const response = message({
  description: [1, text],
  schema: [2, choice(1, schema)],
});

const operation = message(
  {
    // A parameter, not of the body, but of the query.
    parameters: [8, list(choice(1, choice(2, choice(3, queryParameter))))],
    responses: [9, choice(1, named(choice(1, response)))],
  },
  13,
);

const path = message({
  get: [2, operation],
  patch: [8, operation],
});

const DOCUMENT: Message = {
  swagger: [1, text],
  info: [2, message({ title: [1, text], version: [2, text] })],
  paths: [8, choice(2, named(path))],
  definitions: [9, choice(1, named(schema))],
};

/**
 * The OpenAPI document, version 2, in protobuf: the parts of it that the documents here have. Source of the numbers: the message
 * Document of gnostic's OpenAPIv2.proto.
 */
export function encodeOpenApiV2(document: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  write(writer, DOCUMENT, document);
  return writer.finish();
}
