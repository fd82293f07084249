import { type Json, type JsonObject, isObject } from './json.ts';

const TEXTS = ['labels', 'annotations'];

/**
 * Why the metadata of a request cannot be read, in the reference's words; undefined: it can.
 *
 * @param metadata of an object that somebody has sent
 */
export function metadataProblem(metadata: JsonObject): string | undefined {
  for (const field of TEXTS) {
    const given = metadata[field];
    if (given === undefined || given === null) continue;
    if (!isObject(given)) return mismatch(given, field, 'map[string]string');
    const wrong = Object.values(given).find((value) => typeof value !== 'string');
    if (wrong !== undefined) return mismatch(wrong, field, 'string');
  }
  const { finalizers, ownerReferences } = metadata;
  if (!isListOf(finalizers, (one) => typeof one === 'string')) return mismatch(finalizers, 'finalizers', '[]string');
  if (!isListOf(ownerReferences, isObject)) return mismatch(ownerReferences, 'ownerReferences', '[]v1.OwnerReference');
  return undefined;
}

function isListOf(value: Json | undefined, is: (item: Json) => boolean): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) && (value as Json[]).every(is);
}

function mismatch(value: Json | undefined, field: string, type: string): string {
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${found} into Go struct field ObjectMeta.metadata.${field} of type ${type}`;
}
