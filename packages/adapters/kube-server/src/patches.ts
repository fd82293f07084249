import {
  badRequest,
  isObject,
  type Json,
  type JsonObject,
  jsonKind,
  jsonPatch,
  type KubeObject,
  mergePatch,
  mergeRule,
  strategicMerge,
  unsupportedMediaType,
} from '@kubus/kube-objects';

/** The format of a patch: the part of its content type before `-patch+json`. */
export type PatchKind = 'merge' | 'json' | 'strategic-merge';

/** @throws StatusError for what is no patch, or does not apply. */
export function patched(target: KubeObject, patch: Json, kind: PatchKind): Json {
  if (kind === 'json') return jsonPatch(target, patch);
  if (kind === 'merge' && patch === null) throw badRequest('Invalid JSON Patch');
  const fields = mapOf(patch, kind === 'merge' ? 'error decoding patch: ' : '');
  return kind === 'merge' ? mergePatch(target, fields) : strategicMerge(target, fields, mergeRule(target.kind));
}

/** The fields of an apply patch. @throws StatusError 400 for what is no object. */
export const applyFields = (patch: Json): JsonObject =>
  mapOf(patch, 'error decoding YAML: error unmarshaling JSON: while decoding JSON: ');

function mapOf(value: Json, before: string): JsonObject {
  if (value === null) return {};
  if (isObject(value)) return value;
  throw badRequest(`${before}json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`);
}

/** The kind of a patch from its content type; `apply`: server-side apply. @throws StatusError 415. */
export function patchKind(contentType: string): PatchKind | 'apply' {
  if (/^application\/apply-patch\+yaml(?:;|$)/.test(contentType)) return 'apply';
  const [, kind] = /^application\/(merge|json|strategic-merge)-patch\+json(?:;|$)/.exec(contentType) ?? [];
  if (kind === 'merge' || kind === 'json' || kind === 'strategic-merge') return kind;
  throw unsupportedMediaType('415: Unsupported Media Type');
}
