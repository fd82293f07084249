import { entriesOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { type JsonField, type ObjectType, fieldsByName, typeOfObject } from './types.ts';

/** What has no fields of its own known here, such as a plain value, stays as it is. */
function known(type: string, value: Json, path: string, unknown: string[]): Json {
  const fields = fieldsByName(type);
  return fields !== undefined && isObject(value) ? knownOf(fields, value, path, unknown) : value;
}

function knownOf(
  fields: ReadonlyMap<string, JsonField>,
  object: JsonObject,
  path: string,
  unknown: string[],
): JsonObject {
  return Object.fromEntries(
    entriesOf(object).flatMap(([name, value]): [string, Json][] => {
      const at = path === '' ? name : `${path}.${name}`;
      const field = fields.get(name);
      if (field === undefined) {
        unknown.push(at);
        return [];
      }
      if (field.shape === 'list' && Array.isArray(value)) {
        const items = value as readonly Json[];
        return [[name, items.map((item, index) => known(field.type, item, `${at}[${index}]`, unknown))]];
      }
      return [[name, field.shape === 'one' ? known(field.type, value, at, unknown) : value]];
    }),
  );
}

/**
 * The object without the fields that its type does not have, as the reference decodes it, and their paths
 * (`spec.containers[0].imagee`). An object of an unknown kind stays as it is.
 */
export function withoutUnknownFields(
  type: ObjectType,
  object: JsonObject,
): { readonly object: JsonObject; readonly unknown: readonly string[] } {
  const name = typeOfObject(type);
  if (name === undefined) return { object, unknown: [] };
  const { apiVersion, kind, ...fields } = object;
  const unknown: string[] = [];
  const rest = knownOf(fieldsByName(name) ?? new Map<string, JsonField>(), fields, '', unknown);
  return {
    object: { ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }), ...rest },
    unknown,
  };
}
