import { type KubeObject, resources, tableOf } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { startController } from './controller.ts';

const namespaced = resources.filter((resource) => resource.namespaced);

/** Removes the content of namespaces that are deleted, and then them. Returns a function that ends it. */
export function startNamespaces(registry: Registry, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const look = () => {
    for (const namespace of store.list('namespaces')) {
      if (namespace.metadata.deletionTimestamp !== undefined && isEmptied(registry, namespace.metadata.name)) {
        end(registry, namespace);
      }
    }
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
