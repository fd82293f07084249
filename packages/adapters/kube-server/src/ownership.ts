import { apiVersionOf, badRequest, failure, type Json, type JsonObject, type KubeObject } from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import { applyPatch, updateManagedFields } from '@kubus/server-side-apply';
import type { Target } from './target.ts';

/** The `metadata.managedFields` of an object that is about to be stored, from the object with its defaults. */
export type Ownership = (object: KubeObject) => Json | undefined;

/** Who writes what, when. */
export interface Writer {
  readonly target: Target;
  /** Empty: unknown. */
  readonly manager: string;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

const writeOf = ({ target: { resource, subresource }, manager, now }: Writer) => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  manager,
  subresource,
  time: timeOfMs(now),
});

/** Of a create, an update or a patch: the writer has what it changes. */
export function updated(live: KubeObject | undefined, writer: Writer): Ownership {
  return (object) => managedFieldsOf(updateManagedFields(live, object, writeOf(writer)));
}

const managedFieldsOf = ({ metadata }: JsonObject): Json | undefined => (metadata as JsonObject)['managedFields'];

/**
 * The object after an apply patch, and who owns it then.
 *
 * @param live undefined if the patch makes it.
 * @throws StatusError 400 or 500 for what is no apply patch; 409 with the conflicts.
 */
export function applied(
  live: KubeObject | undefined,
  patch: JsonObject,
  { force, ...writer }: Writer & { readonly force: boolean },
): { object: JsonObject; ownership: Ownership } {
  const result = applyPatch({ ...writeOf(writer), live, patch, force });
  if (result.outcome === 'applied') {
    const { object } = result;
    return { object, ownership: () => managedFieldsOf(object) };
  }
  const { message } = result;
  if (result.outcome === 'conflict') {
    throw failure(409, 'Conflict', message, { causes: result.causes.map((cause) => ({ ...cause })) });
  }
  throw result.code === 400 ? badRequest(message) : failure(500, '', message);
}

export function withManagedFields(object: KubeObject, managedFields: Json | undefined): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: { ...metadata, ...(managedFields !== undefined && { managedFields }) },
  };
}
