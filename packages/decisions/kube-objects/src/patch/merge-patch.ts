import { type Json, asObject, isObject } from '../json.ts';

/** JSON merge patch, RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(asObject(target)));
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) merged.delete(field);
    else if (value !== undefined) merged.set(field, mergePatch(merged.get(field), value));
  }
  return Object.fromEntries(merged);
}
