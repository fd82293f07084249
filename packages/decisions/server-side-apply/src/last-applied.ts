import { asObject, entriesOf, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { escapedAsGo } from '@kubus/pod';
import { compare } from './comparison.ts';
import { difference } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOf } from './fields-of.ts';
import { compareTexts } from './path-element.ts';
import type { Schema } from './schema.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** How many bytes the names and values of an object's annotations may have. */
const mostAnnotationBytes = 256 * 1024;

/** What kubectl applied last as a client, in its annotation; empty if it did not. */
function lastAppliedText(object: JsonObject): string {
  const text = asObject(asObject(object['metadata'])['annotations'])[annotation];
  return typeof text === 'string' ? text : '';
}

/**
 * The fields that kubectl applied as a client and nobody has changed since: it may take them over when it applies on the
 * server. None without its annotation, or with one of another version.
 */
export function clientApplied(schema: Schema, live: JsonObject, apiVersion: string): FieldSet {
  const applied = parsedObject(lastAppliedText(live));
  if (applied?.['apiVersion'] !== apiVersion) return new Map();
  const { added, modified, removed } = compare(schema, applied, live);
  return [modified, added, removed].reduce(difference, fieldsOf(schema, applied));
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The applied object, with its annotation as kubectl would have written it for this patch, if there is one. */
export function withLastApplied(object: JsonObject, patch: JsonObject): JsonObject {
  if (lastAppliedText(object) === '') return object;
  const metadata = asObject(object['metadata']);
  const { [annotation]: _, ...others } = asObject(metadata['annotations']);
  const annotations = { ...others, [annotation]: `${escapedAsGo(JSON.stringify(sorted(withoutAnnotation(patch))))}\n` };
  const bytes = Object.entries(annotations).reduce((sum, [name, value]) => sum + sizeOf(name) + sizeOf(value), 0);
  return { ...object, metadata: { ...metadata, annotations: bytes > mostAnnotationBytes ? others : annotations } };
}

const sizeOf = (value: Json | undefined): number =>
  typeof value === 'string' ? encodeURIComponent(value.toWellFormed()).replaceAll(/%../g, '.').length : 0;

function withoutAnnotation(patch: JsonObject): JsonObject {
  const { annotations: given, ...metadata } = asObject(patch['metadata']);
  if (!isObject(given)) return { ...patch, metadata };
  const { [annotation]: _, ...annotations } = given;
  return { ...patch, metadata: { ...metadata, annotations } };
}

/** The value with the fields of each object in the order of their names, as Go writes them. */
function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    entriesOf(value)
      .toSorted(([one], [other]) => compareTexts(one, other))
      .map(([name, field]) => [name, sorted(field)]),
  );
}
