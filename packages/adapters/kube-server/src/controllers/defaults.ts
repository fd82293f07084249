import { type JsonObject, tableOf } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { startController } from './controller.ts';

/** What every cluster has. */
const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** Creates the namespaces that every cluster has. */
export function createNamespaces(registry: Registry): void {
  for (const name of NAMESPACES) create(registry, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

/**
 * Gives each namespace its service account `default`, and the ConfigMap with the server's authority. Returns a function that ends it.
 *
 * @param authority PEM.
 */
export function startDefaults(registry: Registry, authority: string, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const look = () => {
    for (const { metadata } of store.list('namespaces')) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const namespace = metadata.name;
      create(registry, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
      create(registry, {
        ...{ apiVersion: 'v1', kind: 'ConfigMap' },
        metadata: { name: 'kube-root-ca.crt', namespace },
        data: { 'ca.crt': authority },
      });
    }
  };
  return startController({ store, tables: ['namespaces', 'serviceaccounts', 'configmaps'], look, onError });
}

/** Unless it exists. */
function create(
  registry: Registry,
  object: JsonObject & { kind: string; metadata: { name: string; namespace?: string } },
): void {
  const { kind, metadata } = object;
  const target = targetOf({ kind, ...metadata });
  const { resource, namespace } = target;
  const key = resource.namespaced ? `${namespace}/${metadata.name}` : metadata.name;
  if (registry.store.get(tableOf(resource), key) === undefined) registry.create(target, object, { user: ADMIN });
}
