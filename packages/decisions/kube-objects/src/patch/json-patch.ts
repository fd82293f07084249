import { type Operation, applyPatch } from 'rfc6902';
import { type Json, type JsonObject, isList, isObject, jsonKind, plainJson } from '../json.ts';
import { badRequest, failure } from '../status.ts';

/**
 * JSON patch, RFC 6902: all operations or none.
 *
 * @throws StatusError 400 for an invalid patch, 422 for one that does not apply.
 */
export function jsonPatch(target: JsonObject, patch: Json): Json {
  const problem = undecodable(patch);
  if (problem !== undefined) throw badRequest(`error decoding patch: json: cannot unmarshal ${problem}`);
  const patched = plainJson(target);
  const problems = applyPatch(patched, patch as readonly unknown[] as Operation[]).filter((error) => error !== null);
  if (problems.length > 0) {
    throw failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  return patched;
}

function undecodable(patch: Json): string | undefined {
  if (!isList(patch)) return `${jsonKind(patch)} into Go value of type []handlers.jsonPatchOp`;
  for (const operation of patch) {
    if (!isObject(operation)) return `${jsonKind(operation)} into Go value of type handlers.jsonPatchOp`;
    const wrong = ['op', 'path', 'from'].find((field) => typeof (operation[field] ?? '') !== 'string');
    if (wrong === undefined) continue;
    return `${jsonKind(operation[wrong] ?? null)} into Go struct field jsonPatchOp.${wrong} of type string`;
  }
  return undefined;
}
