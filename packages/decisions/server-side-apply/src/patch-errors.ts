import { entriesOf, isList, isObject, type Json } from '@kubus/kube-objects';
import { ItemError, itemElement } from './list-items.ts';
import { pathElementText } from './path-element.ts';
import { schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** How deep an object may be; none that a node's API holds is nearly as deep. */
const deepest = 64;

/** Why the patch is no object of its kind, in the reference's words, with the path of each fault. */
export function patchErrors(schema: Schema | undefined, value: Json, depth = 0): readonly string[] {
  if (depth > deepest) return [`: nested deeper than ${String(deepest)} levels`];
  if (value === null) return [];
  const wantsList = schema?.type === 'list' || schema?.type === 'set';
  if (wantsList && !isList(value)) return [`: expected list, got ${JSON.stringify(value)}`];
  if ((schema?.type === 'struct' || schema?.type === 'atomic') && !isObject(value))
    return [`: expected map, got ${JSON.stringify(value)}`];
  if (isList(value))
    return wantsList
      ? itemErrors(schema, value, depth)
      : value.flatMap((item) => patchErrors(undefined, item, depth + 1));
  if (!isObject(value)) return [];
  return entriesOf(value).flatMap(([name, field]) =>
    under(`.${name}`, patchErrors(schemaOfField(schema, name), field, depth + 1)),
  );
}

function itemErrors(schema: Schema, items: readonly Json[], depth: number): readonly string[] {
  const seen = new Set<string>();
  const errors: string[] = [];
  for (const [index, item] of items.entries()) {
    const element = elementOf(schema, item);
    if (element instanceof ItemError) return [...errors, `: element ${String(index)}: ${element.message}`];
    const text = pathElementText(element);
    if (seen.has(element)) errors.push(`: duplicate entries for key ${text}`);
    seen.add(element);
    errors.push(...under(text, patchErrors(schemaOfItems(schema), item, depth + 1)));
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
