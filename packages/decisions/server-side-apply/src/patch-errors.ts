import { asText, entriesOf, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { fieldsByName, patchTypeError, type Type, typeNamed, typeOfField, typeOfObject } from '@kubus/kube-schema';
import { ItemError, itemElement } from './list-items.ts';
import { pathElementText } from './path-element.ts';
import { schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** How deep an object may be; none that a node's API holds is nearly as deep. */
const deepest = 64;

/** Why the patch is no object of its kind, in the reference's words, with the path of each fault. */
export function patchErrors(schema: Schema, patch: JsonObject): readonly string[] {
  const { apiVersion, kind, ...fields } = patch;
  const name = typeOfObject({ apiVersion: asText(apiVersion), kind: asText(kind) });
  return errorsAt(schema, name === undefined ? undefined : typeNamed(name), fields, 0);
}

/** @param type undefined: anything may be there. */
function errorsAt(schema: Schema | undefined, type: Type | undefined, value: Json, depth: number): readonly string[] {
  if (depth > deepest) return [`: nested deeper than ${String(deepest)} levels`];
  if (value === null) return [];
  const wrong = type && patchTypeError(type, value);
  if (wrong !== undefined) return [`: ${wrong}`];
  if (isList(value)) {
    if (schema?.type === 'list' || schema?.type === 'set') return itemErrors(schema, type, value, depth);
    return value.flatMap((item, index) => under(`[${index}]`, errorsAt(undefined, type?.items, item, depth + 1)));
  }
  if (!isObject(value)) return [];
  return entriesOf(value).flatMap(([name, field]) => under(`.${name}`, fieldErrors(schema, type, name, field, depth)));
}

function fieldErrors(
  schema: Schema | undefined,
  type: Type | undefined,
  name: string,
  value: Json,
  depth: number,
): readonly string[] {
  if (type?.shape !== 'struct') return errorsAt(schemaOfField(schema, name), type?.items, value, depth + 1);
  const field = fieldsByName(type.name)?.get(name);
  if (field === undefined) return [': field not declared in schema'];
  return errorsAt(schemaOfField(schema, name), typeOfField(field), value, depth + 1);
}

function itemErrors(schema: Schema, type: Type | undefined, items: readonly Json[], depth: number): readonly string[] {
  const seen = new Set<string>();
  const errors: string[] = [];
  for (const [index, item] of items.entries()) {
    const element = elementOf(schema, item);
    if (element instanceof ItemError) return [...errors, `: element ${String(index)}: ${element.message}`];
    const text = pathElementText(element);
    if (seen.has(element)) errors.push(`: duplicate entries for key ${text}`);
    seen.add(element);
    errors.push(...under(text, errorsAt(schemaOfItems(schema), type?.items, item, depth + 1)));
  }
  return errors;
}

function elementOf(schema: Schema, item: Json): string | ItemError {
  try {
    return itemElement(schema, item);
  } catch (error) {
    if (error instanceof ItemError) return error;
    throw error;
  }
}

const under = (prefix: string, errors: readonly string[]): readonly string[] =>
  errors.map((error) => `${prefix}${error}`);
