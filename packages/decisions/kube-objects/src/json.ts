import { isDeepEqual } from '@kubus/pod';

/** The values of an API object. An undefined field counts as missing. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json | undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Narrows as `Array.isArray` does not for arrays that are read only. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The value as an object: empty for any other value. */
export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list: empty for any other value. */
export function asList(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

/** The value as text: empty for any other value. */
export function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The value at this path of fields. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, field) => asObject(inner)[field], value);
}

/** The field's own value: a field that is called as one of Object's own is missing like any other. */
export function fieldOf(object: JsonObject, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** The fields that are set, with their values. */
export function entriesOf(object: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(object).filter((entry): entry is [string, Json] => entry[1] !== undefined);
}

/** Equal as the server stores it: fields that are undefined do not count, and no value is stored as null. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepEqual(one ?? null, other ?? null);
}

/** A copy without fields that are undefined, which shares nothing. */
export function plainJson<T extends Json>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The kind of a value, as Go's JSON decoder names it in errors. */
export function jsonKind(value: Json): string {
  if (isList(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
