import { fieldOf, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { keyElement, valueElement } from './path-element.ts';
import type { PathElement } from './path-element.ts';
import type { Schema } from './schema.ts';

/** Thrown when an item is none that a list of its kind can have; the message says why. */
export class ItemError extends Error {}

/**
 * The step to an item of a list whose items are owned apart.
 * @throws ItemError in the reference's words if the list cannot have the item.
 */
export function itemElement(schema: Schema | undefined, item: Json): PathElement {
  if (schema?.type !== 'list') return setElement(item);
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  const keys = Object.keys(schema.keys);
  const present = keys.flatMap((key): readonly (readonly [string, Json])[] => {
    const own = fieldOf(item, key);
    const value = own === undefined ? schema.keys[key] : own;
    return value === undefined ? [] : [[key, value]];
  });
  if (present.length === 0)
    throw new ItemError(
      `associative list with keys has an element that omits all key fields [${keys.map((key) => JSON.stringify(key)).join(' ')}] (and doesn't have default values for any key fields)`,
    );
  return keyElement(Object.fromEntries(present) satisfies JsonObject);
}

function setElement(item: Json): PathElement {
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type");
  return valueElement(item);
}

/** The items by their steps, in the list's order; a list that was not applied can have several of a step. */
export function itemsByElement(
  schema: Schema | undefined,
  items: readonly Json[],
): ReadonlyMap<PathElement, readonly Json[]> {
  const found = new Map<PathElement, Json[]>();
  for (const item of items) {
    const element = itemElement(schema, item);
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
  }
  return found;
}
