import { asObject, fieldOf, isList, type Json } from '@kubus/kube-objects';
import { commonParts, fieldNames } from './comparison.ts';
import { itemElement, itemsByElement } from './list-items.ts';
import { schemaOfField, schemaOfItems } from './schema.ts';
import type { Schema } from './schema.ts';

/** The object with the fields of the patch. Nothing is removed; of two values the patch's is taken. */
export function merged(schema: Schema | undefined, live: Json | undefined, patch: Json | undefined): Json | undefined {
  if (live === undefined) return patch;
  if (patch === undefined) return live;
  switch (commonParts(schema, live, patch)) {
    case undefined:
      return patch;
    case 'fields':
      return Object.fromEntries(
        fieldNames(live, patch).map((name) => [
          name,
          merged(schemaOfField(schema, name), fieldOf(asObject(live), name), fieldOf(asObject(patch), name)),
        ]),
      );
    case 'items':
      return mergedItems(schema, isList(live) ? live : [], isList(patch) ? patch : []);
  }
}

/**
 * Both lists' items: those of the patch in its order, those that only the live list has at their place relative to the
 * common ones.
 */
function mergedItems(schema: Schema | undefined, live: readonly Json[], patch: readonly Json[]): readonly Json[] {
  const liveItems = itemsByElement(schema, live);
  const patchItems = itemsByElement(schema, patch);
  const liveElements = live.map((item) => itemElement(schema, item));
  const wanted = [...patchItems.keys()];
  const nextCommon = commonFrom(wanted, liveItems);
  const result: Json[] = [];
  let [fromLive, fromPatch] = [0, 0];
  while (fromLive < live.length || fromPatch < wanted.length) {
    const ours = liveElements[fromLive];
    const theirs = wanted[fromPatch];
    const item = live[fromLive];
    const awaited = nextCommon[fromPatch];
    if (ours !== undefined && item !== undefined && !patchItems.has(ours)) {
      result.push(item);
      fromLive += 1;
    } else if (ours !== undefined && ours !== awaited) {
      // Taken already, or taken where the patch has it.
      fromLive += 1;
    } else if (theirs !== undefined) {
      const [one, ...same] = liveItems.get(theirs) ?? [];
      // Of several of a step it is not said which one the patch means.
      const ofLive = same.length > 0 ? null : one;
      if (ours === theirs) fromLive += 1;
      result.push(merged(schemaOfItems(schema), ofLive, patchItems.get(theirs)?.[0]) ?? null);
      fromPatch += 1;
    }
  }
  return result;
}

/** For each place in the patch, the first step from there on that the live list has too. */
function commonFrom(wanted: readonly string[], live: ReadonlyMap<string, unknown>): readonly (string | undefined)[] {
  let next: string | undefined;
  return wanted
    .toReversed()
    .map((element) => {
      if (live.has(element)) next = element;
      return next;
    })
    .toReversed();
}
