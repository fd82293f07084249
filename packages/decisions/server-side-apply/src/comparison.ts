import { asObject, fieldOf, isList, isObject, type Json } from '@kubus/kube-objects';
import { isDeepEqual } from '@kubus/pod';
import { differenceWithBelow, GrowingFieldSet } from './field-set.ts';
import type { FieldSet, Path } from './field-set.ts';
import { itemsByElement } from './list-items.ts';
import { fieldElement } from './path-element.ts';
import { partsOf, schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** What differs between an object and its next version. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

interface Differences {
  readonly added: GrowingFieldSet;
  readonly modified: GrowingFieldSet;
  readonly removed: GrowingFieldSet;
}

export function compare(schema: Schema | undefined, live: Json, next: Json): Comparison {
  const found = { added: new GrowingFieldSet(), modified: new GrowingFieldSet(), removed: new GrowingFieldSet() };
  compareValues(schema, live, next, [], found);
  return { added: found.added.fields, modified: found.modified.fields, removed: found.removed.fields };
}

/** The comparison without these fields and what is below them. */
export const without = ({ added, modified, removed }: Comparison, excluded: FieldSet): Comparison => ({
  added: differenceWithBelow(added, excluded),
  modified: differenceWithBelow(modified, excluded),
  removed: differenceWithBelow(removed, excluded),
});

/** By which parts the two are compared and merged; undefined if only as a whole, as two empty ones are. */
export function commonParts(
  schema: Schema | undefined,
  live: Json | undefined,
  next: Json | undefined,
): 'fields' | 'items' | undefined {
  const ofLive = isEmpty(live) ? undefined : partsOf(schema, live);
  const ofNext = isEmpty(next) ? undefined : partsOf(schema, next);
  if (isEmpty(live)) return ofNext;
  if (isEmpty(next)) return ofLive;
  return ofLive === ofNext ? ofLive : undefined;
}

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

function compareValues(
  schema: Schema | undefined,
  live: Json | undefined,
  next: Json | undefined,
  path: Path,
  found: Differences,
): void {
  const parts = commonParts(schema, live, next);
  if (live === undefined) found.added.add(path);
  else if (next === undefined) found.removed.add(path);
  else if (parts === undefined && !isDeepEqual(live, next)) found.modified.add(path);
  if (parts === 'fields') {
    for (const name of fieldNames(live, next))
      compareValues(
        schemaOfField(schema, name),
        fieldOf(asObject(live), name),
        fieldOf(asObject(next), name),
        [...path, fieldElement(name)],
        found,
      );
  } else if (parts === 'items') compareItems(schema, isList(live) ? live : [], isList(next) ? next : [], path, found);
}

/** The names of all fields that one of the two has. */
export function fieldNames(live: Json | undefined, next: Json | undefined): readonly string[] {
  const names = new Set([live, next].flatMap((value) => (isObject(value) ? Object.keys(value) : [])));
  return [...names].filter((name) => [live, next].some((value) => fieldOf(asObject(value), name) !== undefined));
}

function compareItems(
  schema: Schema | undefined,
  live: readonly Json[],
  next: readonly Json[],
  path: Path,
  found: Differences,
): void {
  const ofLive = itemsByElement(schema, live);
  const ofNext = itemsByElement(schema, next);
  for (const element of new Set([...ofLive.keys(), ...ofNext.keys()])) {
    const before = ofLive.get(element) ?? [];
    const after = ofNext.get(element) ?? [];
    const within = [...path, element];
    // Several items of one step have an owner together.
    if (before.length > 1 && after.length > 1) {
      if (!isDeepEqual(before, after)) found.modified.add(within);
    } else {
      const one = before.length > 1 ? undefined : before[0];
      const other = after.length > 1 ? undefined : after[0];
      if (one !== undefined || other !== undefined) compareValues(schemaOfItems(schema), one, other, within, found);
      if (before.length > 1) found.removed.add(within);
      if (after.length > 1) found.added.add(within);
    }
  }
}
