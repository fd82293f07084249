import { type KubeObject, resources, tableOf } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { startController } from './controller.ts';

const namespaced = resources.filter((resource) => resource.namespaced);

/**
 * How long a deleted namespace keeps its content, in milliseconds: who deletes both, as `kubectl delete -f` does, still finds
 * it. Source: namespaceDeletionGracePeriod of pkg/controller/namespace.
 */
export const NAMESPACE_GRACE_MS = 5_000;

/**
 * Removes the content of namespaces that are deleted, and then them. Returns a function that ends it.
 *
 * @param graceMs until it begins to, in milliseconds.
 */
export function startNamespaces(registry: Registry, graceMs: number, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const look = (again: (ms: number) => void) => {
    let nextMs = Infinity;
    for (const namespace of store.list('namespaces')) {
      const { name, deletionTimestamp } = namespace.metadata;
      if (deletionTimestamp === undefined) continue;
      const leftMs = Date.parse(deletionTimestamp) + graceMs - registry.now();
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      else if (isEmptied(registry, name)) end(registry, namespace);
    }
    if (nextMs < Infinity) again(nextMs);
  };
  return startController({ store, tables: ['namespaces', ...namespaced.map(tableOf)], look, onError });
}

/** Requests the deletion of what is in it. @returns whether nothing is left. */
function isEmptied(registry: Registry, namespace: string): boolean {
  let isEmpty = true;
  for (const resource of namespaced) {
    for (const { metadata } of registry.store.list(tableOf(resource))) {
      if (metadata.namespace !== namespace) continue;
      const target = { resource, namespace, name: metadata.name, subresource: '' };
      const isEnding = metadata.deletionTimestamp !== undefined;
      if (isEnding || !registry.delete(target, { user: ADMIN }).removed) isEmpty = false;
    }
  }
  return isEmpty;
}

function end(registry: Registry, namespace: KubeObject): void {
  const target = targetOf({ kind: 'Namespace', name: namespace.metadata.name });
  registry.replace(target, { ...namespace, spec: { ...namespace.spec, finalizers: [] } });
  registry.delete(target, { user: ADMIN });
}
