/** The values of an API object. */
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

/** The field's own value: a field that is called as one of Object's own is missing like any other. */
export function fieldOf(object: JsonObject, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** The fields that are set, with their values. */
export function entriesOf(object: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(object).filter((entry): entry is [string, Json] => entry[1] !== undefined);
}
