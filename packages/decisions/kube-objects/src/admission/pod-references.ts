import { type KubeObject } from '../object.ts';
import type { Pod } from '@kubus/contracts';
import { referencedKinds } from '@kubus/pod-source';

/** In the order in which the reference looks for them. */
const FIRST = ['serviceaccounts', 'secrets', 'configmaps', 'resourceclaims'];

/**
 * The kinds of objects of the API that a pod refers to, in the reference's words and order. Source: HasAPIObjectReference of pkg/api/pod.
 *
 * @param pod one that has been decoded.
 */
export function referencedResources(pod: KubeObject): readonly string[] {
  const kinds = referencedKinds(pod as unknown as Pod).map(({ kind }) =>
    kind.replace(/^(secrets|configmaps) .*/, '$1'),
  );
  return [...FIRST.filter((kind) => kinds.includes(kind)), ...kinds.filter((kind) => !FIRST.includes(kind))];
}
