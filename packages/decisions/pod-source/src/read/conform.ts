import { intOrString, quantity } from '@kubus/contracts';
import * as z from 'zod';
import { FieldPath } from '../validation/field.ts';

/**
 * Converts hand-written data to a schema of the API, as the API server's decoder does: null means omitted, a missing
 * required field becomes the empty value of its type (so that validation can report all of them at once), and a number
 * instead of a quantity becomes its text. Everything else is unchanged; the schema refuses it.
 *
 * @param unknown receives the path of each field that is not in the schema
 */
export function conform(value: unknown, schema: unknown, path: FieldPath, unknown: (path: FieldPath) => void): unknown {
  const inner = bare(schema);
  if (value === null || value === undefined) return emptyValue(inner);
  if (inner === quantity) return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  if (Array.isArray(value)) {
    const element = inner instanceof z.ZodArray ? inner.element : undefined;
    return value.map((item: unknown, i) => conform(item, element, path.index(i), unknown));
  }
  if (isObject(value)) {
    if (inner instanceof z.ZodObject) return conformObject(value, inner.shape, path, unknown);
    const member = inner instanceof z.ZodRecord ? inner.valueType : undefined;
    return conformMembers(value, (key, item) => conform(item, member, path.key(key), unknown));
  }
  return typeof value === 'bigint' ? Number(value) : value;
}

/** The path that an issue of a schema refers to, with map keys marked as such. */
export function issuePath(schema: unknown, segments: readonly PropertyKey[], start: FieldPath): FieldPath {
  let path = start;
  let inner: unknown = schema;
  for (const segment of segments) {
    inner = bare(inner);
    if (typeof segment === 'number') {
      path = path.index(segment);
      inner = inner instanceof z.ZodArray ? inner.element : undefined;
    } else if (inner instanceof z.ZodRecord) {
      path = path.key(String(segment));
      inner = inner.valueType;
    } else {
      path = path.child(String(segment));
      inner = inner instanceof z.ZodObject ? memberOf(inner.shape, String(segment)) : undefined;
    }
  }
  return path;
}

function conformObject(
  value: Readonly<Record<string, unknown>>,
  shape: Readonly<Record<string, unknown>>,
  path: FieldPath,
  unknown: (path: FieldPath) => void,
): unknown {
  const given = conformMembers(value, (key, item) => {
    const member = memberOf(shape, key);
    if (member === undefined) unknown(path.child(key));
    return item === null ? undefined : conform(item, member, path.child(key), unknown);
  });
  for (const [key, member] of Object.entries(shape)) {
    if (given[key] === undefined && !(member instanceof z.ZodOptional)) given[key] = emptyValue(bare(member));
  }
  return given;
}

/** A copy of `value` with each member changed; members that are or become undefined are omitted. */
function conformMembers(
  value: Readonly<Record<string, unknown>>,
  change: (key: string, item: unknown) => unknown,
): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    // Setting this key would change the object's prototype.
    if (key === '__proto__' || item === undefined) continue;
    const member = change(key, item);
    if (member !== undefined) changed[key] = member;
  }
  return changed;
}

function emptyValue(schema: unknown): unknown {
  if (schema instanceof z.ZodString) return '';
  if (schema instanceof z.ZodNumber || schema === intOrString) return 0;
  if (schema instanceof z.ZodBoolean) return false;
  if (schema instanceof z.ZodArray) return [];
  if (schema instanceof z.ZodRecord) return {};
  return schema instanceof z.ZodObject ? conform({}, schema, FieldPath.root, () => undefined) : undefined;
}

function bare(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : schema;
}

function memberOf(shape: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(shape, key) ? shape[key] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
