import { asObject, entriesOf, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { conversionError } from '@kubus/kube-schema';
import { isDeepEqual } from '@kubus/pod';
import { compare, without } from './comparison.ts';
import { conflictCauses, conflictMessage, conflictsIn } from './conflict.ts';
import type { Conflict, ConflictCause } from './conflict.ts';
import { difference, differenceWithBelow, has, intersection, union, withNamedFields } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOf } from './fields-of.ts';
import { schemaOfKind } from './kinds.ts';
import { clientApplied, withLastApplied } from './last-applied.ts';
import { decodeManagers, identityOf, ManagedFieldsError, withManagers, withoutManagers } from './managers.ts';
import type { Managers } from './managers.ts';
import { merged } from './merge.ts';
import { afterChange, afterUpdate, conflictsOf, reset, writer } from './ownership.ts';
import type { Write } from './ownership.ts';
import { patchErrors } from './patch-errors.ts';
import { removed } from './removal.ts';
import { unmanaged } from './reset-fields.ts';
import { completed } from './schema.ts';
import type { Schema } from './schema.ts';

/** An apply patch to an object. */
export interface Apply extends Write {
  /** The stored object; undefined if the patch makes it. */
  readonly live?: JsonObject | undefined;
  readonly patch: JsonObject;
  /** Whether fields of other managers are taken over. */
  readonly force: boolean;
}

export type ApplyResult =
  /** The object with its managedFields, before defaults. */
  | { readonly outcome: 'applied'; readonly object: JsonObject }
  /** The answer 409 with reason Conflict. */
  | { readonly outcome: 'conflict'; readonly message: string; readonly causes: readonly ConflictCause[] }
  /** The patch is none: the answer 400, or 500 as the reference has it for a patch that its schema refuses. */
  | { readonly outcome: 'refused'; readonly code: 400 | 500; readonly message: string };

/** The manager name of `kubectl apply --server-side`, which takes over what kubectl applied as a client. */
const kubectl = 'kubectl';

/**
 * The object after a server-side apply: the patch's fields are set, and those that the manager applied before, no longer
 * applies and nobody else has are removed. Source: KEP-555, structured-merge-diff v6 and k8s.io/apimachinery managedfields.
 */
export function applyPatch(apply: Apply): ApplyResult {
  const { apiVersion, kind, live, patch } = apply;
  const wanted = kindText(apiVersion, kind);
  const given = kindText(textOf(patch['apiVersion']), textOf(patch['kind']));
  if (given !== wanted) return { outcome: 'refused', code: 400, message: `invalid object type: ${given}` };
  const metadata = asObject(patch['metadata']);
  if (isList(metadata['managedFields']))
    return { outcome: 'refused', code: 400, message: 'metadata.managedFields must be nil' };
  const schema = schemaOfKind(apiVersion, kind);
  const subject = `${textOf(metadata['namespace'])}/${textOf(metadata['name'])}; ${wanted}`;
  const wrong = wrongPatch(schema, apply, subject, wanted);
  if (wrong !== undefined) return { outcome: 'refused', code: 500, message: wrong };
  try {
    const before = decodeManagers(asObject(live?.['metadata'])['managedFields']);
    const from = completed(schema, withoutManagers(live ?? { apiVersion, kind })) as JsonObject;
    return applied({ ...apply, schema, from, before: before.size > 0 ? before : found(schema, from, apply) });
  } catch (error) {
    if (!(error instanceof ManagedFieldsError)) throw error;
    return { outcome: 'refused', code: 500, message: `failed to decode managed fields: ${error.message}` };
  }
}

/** What the kind's schema and its types have against the patch. */
function wrongPatch(schema: Schema, { patch, ...type }: Apply, subject: string, wanted: string): string | undefined {
  const errors = patchErrors(schema, patch);
  if (errors.length > 0) {
    const texts = errors.length === 1 ? errors.join('') : `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`;
    return `failed to create typed patch object (${subject}): ${texts}`;
  }
  const problem = conversionError(type, patch);
  if (problem === undefined) return undefined;
  return `failed to convert new object (${subject}) to proper version: unable to convert unstructured object to ${wanted}: ${problem}`;
}

/** Group, version and kind as messages have them: `/v1, Kind=Pod`. */
const kindText = (apiVersion: string, kind: string): string =>
  `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`;

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The managers of an object that had none: what is there is of a manager of its own. */
function found(schema: Schema, live: JsonObject, write: Write): Managers {
  const { apiVersion, kind } = write;
  const nothing = completed(schema, { apiVersion, kind }) as JsonObject;
  return afterUpdate(schema, nothing, live, new Map(), { ...write, manager: 'before-first-apply' });
}

interface Prepared extends Apply {
  readonly schema: Schema;
  /** The live object, complete and without managers. */
  readonly from: JsonObject;
  readonly before: Managers;
}

function applied(apply: Prepared): ApplyResult {
  const { schema, from, patch, before, apiVersion, force, manager, time } = apply;
  const self = writer(apply, 'Apply');
  const identity = identityOf(self);
  const last = before.get(identity);
  const fields = differenceWithBelow(fieldsOf(schema, patch), reset(apply));
  const managers = new Map(before).set(identity, { ...self, fields });
  const whole = merged(schema, from, patch) ?? {};
  const next = last?.apiVersion === apiVersion ? pruned(schema, whole, last.fields, managers, apiVersion) : whole;
  const change = without(compare(schema, from, next), reset(apply));
  const conflicts = conflictsIn([...conflictsOf(ofVersion(managers, apiVersion), change, identity).values()]);
  const disputed = force ? [] : disputedOf(conflicts, apply);
  if (disputed.length > 0)
    return { outcome: 'conflict', message: conflictMessage(disputed), causes: conflictCauses(disputed) };
  const after = new Map(afterChange(managers, change, identity, apiVersion));
  const owned = difference(fields, unmanaged);
  const changed = !isDeepEqual(from, next);
  const entryTime = changed ? time : last?.time;
  if (owned.size === 0) after.delete(identity);
  else after.set(identity, { ...self, fields: owned, ...(entryTime !== undefined && { time: entryTime }) });
  const object = withoutNulls(changed ? next : from) as JsonObject;
  return {
    outcome: 'applied',
    object: withManagers(manager === kubectl ? withLastApplied(object, patch) : object, after),
  };
}

const ofVersion = (managers: Managers, apiVersion: string): Managers =>
  new Map([...managers].filter(([, manager]) => manager.apiVersion === apiVersion));

/** The conflicts that stand; kubectl has none about what it applied as a client. */
function disputedOf(
  conflicts: readonly Conflict[],
  { schema, from, manager, apiVersion }: Prepared,
): readonly Conflict[] {
  if (manager !== kubectl || conflicts.length === 0) return conflicts;
  const allowed = clientApplied(schema, from, apiVersion);
  return conflicts.filter(({ path }) => !has(allowed, path));
}

/** The merged object without the fields that the manager applied last and that neither it nor another manager has now. */
function pruned(schema: Schema, whole: Json, last: FieldSet, managers: Managers, apiVersion: string): Json {
  const all = withNamedFields(fieldsOf(schema, whole));
  const wanted = withNamedFields(last);
  const left = (fields: FieldSet): FieldSet => withNamedFields(fieldsOf(schema, removed(schema, whole, fields)));
  const owned = withNamedFields(
    [...ofVersion(managers, apiVersion).values()].map(({ fields }) => fields).reduce(union, new Map()),
  );
  const withOwned = difference(all, union(left(wanted), owned));
  return removed(schema, whole, intersection(difference(all, left(withOwned)), wanted));
}

/** No field is stored as null: a patch that sets one takes the value away. */
function withoutNulls(value: Json): Json {
  if (isList(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    entriesOf(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, withoutNulls(field)]),
  );
}
