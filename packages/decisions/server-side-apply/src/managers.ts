import { asObject, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import type { FieldSet } from './field-set.ts';
import { union } from './field-set.ts';
import { decodeFields, encodeFields } from './fields-v1.ts';
import { compareTexts } from './path-element.ts';

/** Who last wrote which fields, one entry of metadata.managedFields. */
export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds; undefined if nothing has changed since it came. */
  readonly time?: string;
  readonly fields: FieldSet;
}

/** Managers by their identity. */
export type Managers = ReadonlyMap<string, Manager>;

/** Thrown when managedFields cannot be read; the message is the reference's. */
export class ManagedFieldsError extends Error {}

/** What tells one manager from another: an applier stays the same one when it changes its version. */
export const identityOf = ({ name, operation, apiVersion, subresource }: Omit<Manager, 'fields'>): string =>
  JSON.stringify({
    manager: name,
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource !== '' && { subresource }),
  });

/** @throws ManagedFieldsError */
export function decodeManagers(entries: Json | undefined): Managers {
  if (entries === undefined || entries === null) return new Map();
  if (!isList(entries)) throw new ManagedFieldsError('managedFields must be a list');
  return new Map(
    entries.map((entry, index) => {
      const manager = decodeManager(asObject(entry), index);
      return [identityOf(manager), manager];
    }),
  );
}

function decodeManager(entry: JsonObject, index: number): Manager {
  const { operation, apiVersion, fieldsType, manager, subresource, time, fieldsV1 } = entry;
  if (operation !== 'Apply' && operation !== 'Update')
    throw new ManagedFieldsError('operation must be `Apply` or `Update`');
  if (typeof apiVersion !== 'string' || apiVersion === '') throw new ManagedFieldsError('apiVersion must not be empty');
  if (fieldsType === undefined || fieldsType === '')
    throw new ManagedFieldsError(`missing fieldsType in managed fields entry ${String(index)}`);
  if (fieldsType !== 'FieldsV1')
    throw new ManagedFieldsError(
      `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${String(index)}`,
    );
  return {
    name: typeof manager === 'string' ? manager : '',
    operation,
    apiVersion,
    subresource: typeof subresource === 'string' ? subresource : '',
    ...(typeof time === 'string' && { time }),
    fields: decodeEntryFields(fieldsV1),
  };
}

function decodeEntryFields(fields: Json | undefined): FieldSet {
  try {
    return decodeFields(fields);
  } catch (cause) {
    throw new ManagedFieldsError(`error decoding set: ${cause instanceof Error ? cause.message : ''}`, { cause });
  }
}

/** As metadata.managedFields, in the reference's order: appliers first, then by time and name. */
export function encodeManagers(managers: Managers): readonly JsonObject[] {
  return [...managers.values()]
    .toSorted(
      (one, other) =>
        compareTexts(one.operation, other.operation) ||
        secondsOf(one) - secondsOf(other) ||
        compareTexts(one.name, other.name) ||
        compareTexts(one.apiVersion, other.apiVersion) ||
        compareTexts(one.subresource, other.subresource),
    )
    .map(({ name, operation, apiVersion, subresource, time, fields }) => ({
      ...(name !== '' && { manager: name }),
      operation,
      apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: encodeFields(fields),
      ...(subresource !== '' && { subresource }),
    }));
}

function secondsOf({ time }: Manager): number {
  const ms = time === undefined ? 0 : Date.parse(time);
  return Number.isNaN(ms) ? 0 : Math.trunc(ms / 1000);
}

/** The object with these managers, or without the field if there are none. */
export function withManagers(object: JsonObject, managers: Managers): JsonObject {
  const { managedFields: _, ...metadata } = asObject(object['metadata']);
  const entries = encodeManagers(managers);
  return { ...object, metadata: { ...metadata, ...(entries.length > 0 && { managedFields: entries }) } };
}

/** The object without the field, as it is compared and merged. */
export function withoutManagers(object: JsonObject): JsonObject {
  return isObject(object['metadata']) ? withManagers(object, new Map()) : object;
}

/** How many entries of updates an object has before the oldest become one. */
const mostUpdaters = 10;

/** The managers with at most ten entries of updates: the oldest of a version become `ancient-changes`. */
export function capped(managers: Managers): Managers {
  const updaters = [...managers]
    .filter(([, { operation }]) => operation === 'Update')
    .toSorted(([a, one], [b, other]) => secondsOf(one) - secondsOf(other) || compareTexts(a, b));
  const result = new Map(managers);
  const oldestOf = new Map<string, string>();
  let left = updaters.length;
  for (const [identity, manager] of updaters) {
    if (left <= mostUpdaters) break;
    const { apiVersion, time } = manager;
    const first = oldestOf.get(apiVersion);
    if (first === undefined) oldestOf.set(apiVersion, identity);
    else {
      const bucket = { name: 'ancient-changes', operation: 'Update', apiVersion, subresource: '' } as const;
      const ancient = result.get(identityOf(bucket)) ?? result.get(first);
      result.delete(first);
      result.delete(identity);
      const fields = union(manager.fields, ancient?.fields ?? new Map());
      result.set(identityOf(bucket), { ...bucket, ...(time !== undefined && { time }), fields });
      left -= 1;
    }
  }
  return result;
}
