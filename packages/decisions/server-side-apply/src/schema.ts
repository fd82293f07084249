import { entriesOf, fieldOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';

/**
 * What of a value several managers may own apart. Where there is no schema, the rules are those that most fields have: an
 * object by its fields, a list as a whole.
 */
export type Schema =
  /** An object that has one owner as a whole. */
  | { readonly type: 'atomic' }
  /** A list of plain values, each with its own owners. */
  | { readonly type: 'set' }
  /** A list of objects, distinguished by these of their fields; each with the value that counts where it is missing. */
  | { readonly type: 'list'; readonly keys: JsonObject; readonly items: Schema | undefined }
  /**
   * An object with known fields: those that follow other rules than the ones above, and the values that it always has, as
   * the reference has them in every object of the type, where nothing else is set.
   */
  | { readonly type: 'struct'; readonly fields: Readonly<Record<string, Schema>>; readonly always: JsonObject };

export const schemaOfField = (schema: Schema | undefined, field: string): Schema | undefined =>
  schema?.type === 'struct' && Object.hasOwn(schema.fields, field) ? schema.fields[field] : undefined;

export const schemaOfItems = (schema: Schema | undefined): Schema | undefined =>
  schema?.type === 'list' ? schema.items : undefined;

/** What of the value is owned apart: fields of an object, items of a list; undefined if it is owned as a whole. */
export function partsOf(schema: Schema | undefined, value: Json | undefined): 'fields' | 'items' | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return schema?.type === 'set' || schema?.type === 'list' ? 'items' : undefined;
  return schema?.type === 'atomic' ? undefined : 'fields';
}

/**
 * The value with all that an object of its type always has. Nobody is the one who added that: in the reference it is in the
 * object before the first write.
 */
export function completed(schema: Schema | undefined, value: Json): Json {
  const parts = partsOf(schema, value);
  if (parts === 'items') return (value as readonly Json[]).map((item) => completed(schemaOfItems(schema), item));
  if (parts !== 'fields' || schema?.type !== 'struct') return value;
  return Object.fromEntries(
    entriesOf(filled(schema.always, value as JsonObject)).map(([name, field]) => [
      name,
      completed(schemaOfField(schema, name), field),
    ]),
  );
}

/** The object with the values of `always` where it has none. */
function filled(always: JsonObject, object: JsonObject): JsonObject {
  const missing = entriesOf(always).map(([name, value]): readonly [string, Json] => {
    const own = fieldOf(object, name);
    return [name, isObject(own) && isObject(value) ? filled(value, own) : (own ?? value)];
  });
  return { ...object, ...Object.fromEntries(missing) };
}
