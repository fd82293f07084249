import { asText, isList, isObject, type Json, jsonKind, type JsonObject } from '@kubus/kube-objects';
import { base64Problem, goSyntax, goText, quantityProblem, timeProblem } from './go-values.ts';
import { type Place, type Type, placesIn } from './places.ts';
import { type ObjectType, typeOfObject } from './types.ts';

/** A value that its place does not take, in words of Go. */
interface Wrong {
  /** That of a type with a decoder of its own, which ends the decoding of the whole; others are found after it. */
  readonly ends: boolean;
  readonly message: string;
}

/** The kind of a decoded value in Go. */
function goKind(value: Json): string {
  if (isList(value)) return 'slice';
  if (isObject(value)) return 'map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const INT32 = 2 ** 31;
const INT64 = 2 ** 63;
const isInteger = (value: Json, bound: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= -bound && value < bound;

/** What of a value does not fit an integer: a number as a whole, of others the kind. */
const notInteger = (value: Json): string => (typeof value === 'number' ? `number ${value}` : jsonKind(value));

/** A value that a type with a decoder of its own does not take. @param mismatch the words for a value of another kind. */
function ownProblem(name: string, value: Json, mismatch: (found: string, goType: string) => string) {
  switch (name) {
    case 'Quantity':
      return quantityProblem(typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '');
    case 'IntOrString':
      return typeof value === 'string' || isInteger(value, INT32) ? undefined : mismatch(notInteger(value), 'int32');
    case 'Time':
    case 'MicroTime':
      return typeof value === 'string' ? timeProblem(value, name === 'MicroTime') : mismatch(jsonKind(value), 'string');
    default:
      return undefined;
  }
}

/** Whether the value has the kind that its place takes; a type with a decoder of its own takes any. */
function hasKind({ shape, name }: Type, value: Json): boolean {
  if (shape !== 'plain') return shape === 'list' ? isList(value) : isObject(value);
  switch (name) {
    case 'string':
    case 'bytes':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'int32':
      return isInteger(value, INT32);
    case 'int64':
      return isInteger(value, INT64);
    case 'double':
      return typeof value === 'number';
    default:
      return true;
  }
}

const isWhole = (name: string) => name === 'int32' || name === 'int64';

function undecodable({ value, type, struct, fields }: Place): Wrong | undefined {
  const mismatch = (found: string, goType: string) =>
    `json: cannot unmarshal ${found} into Go struct field ${struct}.${fields.join('.')} of type ${goType}`;
  if (!hasKind(type, value)) {
    const found = isWhole(type.name) ? notInteger(value) : jsonKind(value);
    return { ends: false, message: mismatch(found, type.goType) };
  }
  if (type.name === 'bytes') return wrong(base64Problem(asText(value)), false);
  return wrong(ownProblem(type.name, value, mismatch), true);
}

const wrong = (message: string | undefined, ends: boolean): Wrong | undefined =>
  message === undefined ? undefined : { ends, message };

/** Why Go's JSON decoder refuses the object of this kind; undefined: it does not, or the kind is unknown. */
export function decodingError(type: ObjectType, object: JsonObject): string | undefined {
  let first: string | undefined;
  const name = typeOfObject(type);
  for (const place of name === undefined ? [] : placesIn(name, object)) {
    const found = undecodable(place);
    if (found?.ends === true) return found.message;
    first ??= found?.message;
  }
  return first;
}

function unconvertible({ value, type }: Place): string | undefined {
  const mismatch = (found: string, goType: string) => `json: cannot unmarshal ${found} into Go value of type ${goType}`;
  const kind = goKind(value);
  const { shape, name, goType } = type;
  if (hasKind(type, value)) {
    const encoding = name === 'bytes' ? base64Problem(asText(value)) : undefined;
    return encoding === undefined ? ownProblem(name, value, mismatch) : `error decoding from json: ${encoding}`;
  }
  if (shape === 'struct') return `cannot restore struct from: ${kind}`;
  if (shape === 'map') return `cannot restore map from ${kind}`;
  if (shape === 'list' || name === 'bytes') return `cannot restore slice from ${kind}`;
  if (name === 'string' && kind === 'int64') return `cannot convert int64 to ${goType}`;
  if (isWhole(name) && kind === 'float64') return `cannot convert float64 to ${goType}`;
  // The reference stores what 32 bits hold of it.
  if (isWhole(name) && kind === 'int64') return mismatch(notInteger(value), goType);
  return `unrecognized type: ${name === 'double' ? 'float64' : name}`;
}

/** As {@link decodingError}, of an object that is no text any more (k8s.io/apimachinery, FromUnstructured). */
export function conversionError(type: ObjectType, object: JsonObject): string | undefined {
  const name = typeOfObject(type);
  for (const place of name === undefined ? [] : placesIn(name, object)) {
    const message = unconvertible(place);
    if (message !== undefined) return message;
  }
  return undefined;
}

/** Why an apply patch may not have the value there (structured-merge-diff); undefined: it may, as far as its kind goes. */
export function patchTypeError({ shape, name }: Type, value: Json): string | undefined {
  const shown = `&{${goText(value)}}`;
  if (shape === 'list') return isList(value) ? undefined : `expected list, got ${shown}`;
  if (shape !== 'plain') return isObject(value) ? undefined : `expected map, got ${shown}`;
  switch (name) {
    case 'string':
    case 'bytes':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case 'bool':
      return typeof value === 'boolean' ? undefined : `expected boolean, got ${shown}`;
    case 'int32':
    case 'int64':
    case 'double':
      return typeof value === 'number' ? undefined : `expected numeric (int or float), got ${goTypeOfValue(value)}`;
    case 'Quantity':
    case 'IntOrString':
    case 'Time':
    case 'MicroTime':
      return typeof value === 'object' ? `expected any scalar, got ${shown}` : undefined;
    default:
      return undefined;
  }
}

function goTypeOfValue(value: Json): string {
  if (isList(value)) return '[]interface {}';
  return isObject(value) ? 'map[string]interface {}' : goKind(value);
}
