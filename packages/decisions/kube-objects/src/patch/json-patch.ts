import { type Operation, applyPatch } from 'rfc6902';
import { type Json, type JsonObject, isList, isObject, plainJson } from '../json.ts';
import { badRequest, failure } from '../status.ts';

/**
 * JSON patch, RFC 6902: all operations or none.
 *
 * @throws StatusError 400 for an invalid patch, 422 for one that does not apply.
 */
export function jsonPatch(target: JsonObject, patch: Json): Json {
  if (!isList(patch) || !patch.every(isObject))
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  const patched = plainJson(target);
  const problems = applyPatch(patched, patch as readonly unknown[] as Operation[]).filter((error) => error !== null);
  if (problems.length > 0) {
    throw failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  return patched;
}
