import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';

type Json = fc.Arbitrary<unknown>;

function scalarValue(type: ScalarType): Json {
  switch (type) {
    case ScalarType.STRING:
      return fc.string({ unit: 'grapheme', maxLength: 8 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT32:
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    case ScalarType.UINT32:
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
    case ScalarType.DOUBLE:
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    default:
      throw new Error(`no values for ${ScalarType[type]}`);
  }
}

function single(field: Pick<DescField, 'scalar' | 'enum' | 'message'>): Json {
  if (field.message !== undefined) {
    return jsonValues(field.message);
  }
  if (field.enum !== undefined) {
    return fc.constantFrom(...field.enum.values.map(({ name }) => name));
  }
  return scalarValue(field.scalar ?? ScalarType.STRING);
}

function value(field: DescField): Json {
  switch (field.fieldKind) {
    case 'list':
      return fc.array(single(field as Pick<DescField, 'scalar' | 'enum' | 'message'>), { maxLength: 3 });
    case 'map':
      return fc.dictionary(
        fc.string({ maxLength: 4 }),
        single(field as Pick<DescField, 'scalar' | 'enum' | 'message'>),
        {
          maxKeys: 3,
          noNullPrototype: true,
        },
      );
    default:
      return single(field);
  }
}

/** Any value of a message in the proto3 JSON mapping; each field is there or not. */
export function jsonValues(message: DescMessage): fc.Arbitrary<Record<string, unknown>> {
  const fields = message.fields.map((field) => [field.jsonName, value(field)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
}
