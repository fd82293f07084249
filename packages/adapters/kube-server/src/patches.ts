import {
  badRequest,
  isObject,
  type Json,
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
  if (!isObject(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    );
  }
  if (kind === 'merge') return mergePatch(target, patch);
  return strategicMerge(target, patch, mergeRule(target.kind));
}

/** The kind of a patch from its content type; `apply`: server-side apply. @throws StatusError 415. */
export function patchKind(contentType: string): PatchKind | 'apply' {
  if (/^application\/apply-patch\+yaml(?:;|$)/.test(contentType)) return 'apply';
  const [, kind] = /^application\/(merge|json|strategic-merge)-patch\+json(?:;|$)/.exec(contentType) ?? [];
  if (kind === 'merge' || kind === 'json' || kind === 'strategic-merge') return kind;
  throw unsupportedMediaType('415: Unsupported Media Type');
}
