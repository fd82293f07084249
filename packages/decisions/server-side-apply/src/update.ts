import { asObject, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { isDeepEqual } from '@kubus/pod';
import { schemaOfKind } from './kinds.ts';
import { decodeManagers, encodeManagers, ManagedFieldsError, withManagers, withoutManagers } from './managers.ts';
import type { Managers } from './managers.ts';
import { afterUpdate } from './ownership.ts';
import type { Write } from './ownership.ts';
import { completed } from './schema.ts';

/**
 * The object of a create, an update or a patch other than apply, with its managedFields. What `next` says of managedFields
 * counts where the reference lets it: an empty list takes them away, a list of entries replaces them.
 * @param live The stored object; undefined for a create.
 * @param next The object as it is to be stored, after patch and defaults.
 */
export function updateManagedFields(live: JsonObject | undefined, next: JsonObject, write: Write): JsonObject {
  const { apiVersion, kind } = write;
  const before = managersBefore(live, next, write);
  const plain = withoutManagers(next);
  // An object whose managers were taken away stays without them until it is applied.
  if (before.size === 0 && live !== undefined) return plain;
  const schema = schemaOfKind(apiVersion, kind);
  const from = completed(schema, withoutManagers(live ?? { apiVersion, kind })) as JsonObject;
  const managers = afterUpdate(schema, from, completed(schema, plain) as JsonObject, before, write);
  return keptTimes(live, withManagers(plain, managers), managers);
}

function managersBefore(live: JsonObject | undefined, next: JsonObject, { subresource = '' }: Write): Managers {
  const given = asObject(next['metadata'])['managedFields'];
  const stored = (): Managers => managersOf(asObject(live?.['metadata'])['managedFields']);
  if (subresource !== '') return stored();
  if (isReset(given)) return new Map();
  const asked = managersOf(given);
  return asked.size > 0 ? asked : stored();
}

/** The managers; none if they cannot be read. */
function managersOf(entries: Json | undefined): Managers {
  try {
    return decodeManagers(entries);
  } catch (error) {
    if (error instanceof ManagedFieldsError) return new Map();
    throw error;
  }
}

/** No entry, or a single empty one, is the way to take managedFields away. */
function isReset(entries: Json | undefined): boolean {
  if (!isList(entries)) return false;
  const [only] = entries;
  return entries.length === 0 || (entries.length === 1 && isObject(only) && Object.keys(only).length === 0);
}

/** A write that changes nothing but the times of managers is none: the object as it is stored. */
function keptTimes(live: JsonObject | undefined, next: JsonObject, managers: Managers): JsonObject {
  if (live === undefined || !isDeepEqual(withoutManagers(live), withoutManagers(next))) return next;
  const timeless = (entries: Managers): Managers =>
    new Map([...entries].map(([identity, { time: _, ...manager }]) => [identity, manager]));
  const stored = managersOf(asObject(live['metadata'])['managedFields']);
  return isDeepEqual(encodeManagers(timeless(stored)), encodeManagers(timeless(managers)))
    ? withManagers(next, stored)
    : next;
}
