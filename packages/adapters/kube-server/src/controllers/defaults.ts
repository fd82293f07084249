import { setTimeout } from 'node:timers/promises';
import { type JsonObject, LEASE_NAMESPACE, tableOf } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { defaultRoles } from './default-roles.ts';
import { startController } from './controller.ts';

/** What every cluster has. */
const NAMESPACES = ['default', 'kube-system', 'kube-public', LEASE_NAMESPACE];

const TABLES = ['namespaces', 'serviceaccounts', 'configmaps', 'services', 'endpointslices.discovery.k8s.io'];

interface ServiceAddress {
  readonly address: string;
  readonly port: number;
}

/** What namespaces have of the server. */
export interface ServerDefaults {
  /** Its authority, PEM. */
  readonly authority: string;
  /** Where pods reach it; left out: they do not. */
  readonly service?: ServiceAddress;
}

/** Creates the namespaces that every cluster has. */
export function createNamespaces(registry: Registry): void {
  for (const name of NAMESPACES) create(registry, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

/** Creates the Service by which pods reach the server, with its endpoint: clients in pods find it in their environment. */
function createApiService(registry: Registry, { address, port }: ServiceAddress): void {
  const metadata = { name: 'kubernetes', namespace: 'default' };
  const ports = [{ name: 'https', protocol: 'TCP', port }];
  create(registry, {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { ...metadata, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP: address, ports },
  });
  create(registry, {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' },
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports,
  });
}

/**
 * Gives each namespace its service account `default`, and the ConfigMap with the server's authority; the namespace `default` the server's
 * Service; and creates the roles that every cluster has. Returns a function that ends it.
 */
export function startDefaults(registry: Registry, server: ServerDefaults, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const { authority, service } = server;
  for (const role of defaultRoles) create(registry, role);
  const look = () => {
    if (service !== undefined) createApiService(registry, service);
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
  return startController({ store, tables: TABLES, look, onError });
}

/** Unless it exists. */
function create(
  registry: Registry,
  object: JsonObject & { kind: string; metadata: JsonObject & { name: string; namespace?: string } },
): void {
  const { kind, metadata } = object;
  const target = targetOf({ kind, ...metadata });
  const { resource, namespace } = target;
  const key = resource.namespaced ? `${namespace}/${metadata.name}` : metadata.name;
  if (registry.store.get(tableOf(resource), key) === undefined) registry.create(target, object, { user: ADMIN });
}

/** How long a pod waits for the account of its namespace, in milliseconds: the reference looks ten times in this time. */
const WAIT_MS = 1_500;

/** Resolves when the namespace has its account, if pods get one: a controller makes it after the namespace. Bounded. */
export async function defaultAccount({ store, serviceAccounts }: Registry, namespace: string): Promise<void> {
  const has = () => store.get('serviceaccounts', `${namespace}/default`) !== undefined;
  if (!serviceAccounts || has() || store.get('namespaces', namespace) === undefined) return;
  const made = new AbortController();
  const unfollow = store.follow(() => {
    if (has()) made.abort();
  });
  // Its only error is the end of the wait.
  await setTimeout(WAIT_MS, undefined, { signal: made.signal }).catch(() => undefined);
  unfollow();
}
