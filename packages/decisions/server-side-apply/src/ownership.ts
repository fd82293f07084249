import type { JsonObject } from '@kubus/kube-objects';
import { compare, without } from './comparison.ts';
import type { Comparison } from './comparison.ts';
import { difference, differenceWithBelow, intersection, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { capped, identityOf } from './managers.ts';
import type { Manager, Managers } from './managers.ts';
import { resetFields, unmanaged } from './reset-fields.ts';
import type { Schema } from './schema.ts';

/** A write: whose, of what, and when. */
export interface Write {
  readonly manager: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty or missing for the object itself. */
  readonly subresource?: string | undefined;
  /** RFC 3339, whole seconds. */
  readonly time: string;
}

/** The manager that a write is of, without fields. */
export const writer = ({ manager, apiVersion, subresource = '' }: Write, operation: Manager['operation']): Manager => ({
  name: manager === '' ? 'unknown' : manager,
  operation,
  apiVersion,
  subresource,
  fields: new Map(),
});

export const reset = ({ kind, subresource = '' }: Write): FieldSet => resetFields(kind, subresource);

/** What of each other manager's fields a change takes: those of managers that lose nothing are not there. */
export function conflictsOf(managers: Managers, { added, modified }: Comparison, self: string): Managers {
  const changed = union(added, modified);
  return new Map(
    [...managers]
      .filter(([identity]) => identity !== self)
      .map(([identity, manager]) => [identity, { ...manager, fields: intersection(manager.fields, changed) }] as const)
      .filter(([, { fields }]) => fields.size > 0),
  );
}

/**
 * The managers after a change: the others no longer have what was changed or removed. Those of a version that the object is
 * not served in, and those without fields, are gone.
 */
export function afterChange(managers: Managers, change: Comparison, self: string, apiVersion: string): Managers {
  const lost = union(union(change.added, change.modified), change.removed);
  return new Map(
    [...managers]
      .filter(([identity, manager]) => identity === self || manager.apiVersion === apiVersion)
      .map(([identity, manager]) =>
        identity === self
          ? ([identity, manager] as const)
          : ([identity, { ...manager, fields: difference(manager.fields, lost) }] as const),
      )
      .filter(([, { fields }]) => fields.size > 0),
  );
}

/** The managers after a write that says what the object shall be. The writer has all that it changed, besides what it had. */
export function afterUpdate(
  schema: Schema,
  live: JsonObject,
  next: JsonObject,
  managers: Managers,
  write: Write,
): Managers {
  const change = without(compare(schema, live, next), reset(write));
  const self = writer(write, 'Update');
  const identity = identityOf(self);
  const result = new Map(afterChange(managers, change, '', write.apiVersion));
  const changed = difference(differenceWithBelow(union(change.modified, change.added), reset(write)), unmanaged);
  if (changed.size > 0)
    result.set(identity, {
      ...self,
      time: write.time,
      fields: union(changed, result.get(identity)?.fields ?? new Map()),
    });
  return capped(result);
}
