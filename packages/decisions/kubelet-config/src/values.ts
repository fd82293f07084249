import { configError } from './errors.ts';
import type { Field, Fields } from './field.ts';
import { type KubeletConfiguration, fieldTable } from './field-table.ts';
import { duration, mismatch } from './kinds.ts';
import { type Json, type JsonObject, isObject } from './merge-patch.ts';
import { unknownField } from './struct-kinds.ts';

export const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
export const KIND = 'KubeletConfiguration';

/** Values that are set, by the field's path, such as `authentication.x509.clientCAFile`. */
export type Values = ReadonlyMap<string, unknown>;

/** Every field by its path, in the order of the table. */
export const fieldsByPath: ReadonlyMap<string, Field<unknown>> = new Map(leaves(fieldTable, ''));

function leaves(fields: Fields, prefix: string): [string, Field<unknown>][] {
  return Object.entries(fields).flatMap(([name, entry]) => {
    const path = prefix + name;
    return isField(entry) ? [[path, entry] as [string, Field<unknown>]] : leaves(entry, `${path}.`);
  });
}

function isField(entry: Field<unknown> | Fields): entry is Field<unknown> {
  return 'kind' in entry;
}

/**
 * The values that a document sets. `null` sets nothing.
 *
 * @throws KubeletConfigError for fields that do not exist and values of another type, with the reference's text.
 */
export function decode(document: unknown): Map<string, unknown> {
  if (!isObject(document)) throw configError(`${KIND} is not an object`);
  const values = new Map<string, unknown>();
  const unknown: string[] = [];
  const { apiVersion: _, kind: __, ...content } = document;
  decodeGroup(content, fieldTable, '', values, unknown);
  if (unknown.length > 0) throw configError(`strict decoding error: ${unknown.map(unknownField).join(', ')}`);
  return values;
}

function decodeGroup(
  group: Readonly<Record<string, unknown>>,
  fields: Fields,
  prefix: string,
  values: Map<string, unknown>,
  unknown: string[],
): void {
  for (const [name, value] of Object.entries(group)) {
    const path = prefix + name;
    const entry = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (entry === undefined) unknown.push(path);
    else if (value === null || value === undefined) continue;
    else if (isField(entry)) values.set(path, entry.kind.decode(value, path));
    else if (isObject(value)) decodeGroup(value, entry, `${path}.`, values, unknown);
    else mismatch(value, path, 'object');
  }
}

/** The document for values; fields are omitted where the reference omits them. */
export function encode(values: Values): JsonObject {
  return { kind: KIND, apiVersion: API_VERSION, ...encodeGroup(values, fieldTable, '') };
}

function encodeGroup(values: Values, fields: Fields, prefix: string): JsonObject {
  const document: Record<string, Json> = {};
  for (const [name, entry] of Object.entries(fields)) {
    const path = prefix + name;
    if (!isField(entry)) {
      const group = encodeGroup(values, entry, `${path}.`);
      if (Object.keys(group).length > 0 || !isAllOptional(entry)) document[name] = group;
      continue;
    }
    const value = values.get(path);
    if (value === undefined) continue;
    // A zero duration is written, as is every object of the reference.
    if (!entry.zeroIsUnset || entry.kind === duration || !entry.kind.isZero(value)) {
      document[name] = entry.kind.encode(value);
    }
  }
  return document;
}

/** Such an object is a pointer in the reference: absent while none of its fields is set. */
function isAllOptional(group: Fields): boolean {
  return Object.values(group).every((entry) => isField(entry) && entry.default === undefined);
}

/** Sets unset fields to their defaults, some of which depend on other fields. */
export function withDefaults(set: Values): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [path, field] of fieldsByPath) {
    const value = set.get(path);
    const isSet = value !== undefined && !(field.zeroIsUnset && field.kind.isZero(value));
    const chosen = isSet ? value : defaultOf(path, field, set);
    if (chosen !== undefined) values.set(path, chosen);
  }
  if (Number(values.get('podPidsLimit')) < 0) values.set('podPidsLimit', -1);
  return values;
}

function defaultOf(path: string, field: Field<unknown>, set: Values): unknown {
  if (path === 'nodeStatusReportFrequency') {
    const update = Number(set.get('nodeStatusUpdateFrequency') ?? 0);
    if (update !== 0) return update;
  }
  if (path === 'serializeImagePulls') return Number(set.get('maxParallelImagePulls') ?? 0) < 2;
  return field.default;
}

/** The values as one object; every field that has a default must be set. */
export function toConfiguration(values: Values): KubeletConfiguration {
  const build = (fields: Fields, prefix: string): object =>
    Object.fromEntries(
      Object.entries(fields).map(([name, entry]) => {
        const path = prefix + name;
        return [name, isField(entry) ? values.get(path) : build(entry, `${path}.`)];
      }),
    );
  return build(fieldTable, '') as KubeletConfiguration;
}
