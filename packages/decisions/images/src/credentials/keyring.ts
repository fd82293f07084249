import type { DockerConfig, Login } from './docker-config.ts';
import { DEFAULT_REGISTRY, isOnDefaultRegistry, matchesRepository } from './registry-match.ts';

/** The Secret that contains a login, or the service account whose token was used to obtain it. */
export interface CredentialSource {
  readonly kind: 'Secret' | 'ServiceAccount';
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A docker configuration; one without a source belongs to the node and may be used for every pod. */
export interface KeyringPart {
  readonly config: DockerConfig;
  readonly source?: CredentialSource | undefined;
}

/** A login that may give access to a repository. */
export interface Credential extends Login {
  /** Undefined: every pod of the node may use it. */
  readonly source?: CredentialSource | undefined;
}

/**
 * The logins for a repository (registry and path, no tag), those for a longer path first. Several may match: all are
 * tried in this order, so that a password can be changed without a gap. Docker Hub's login applies to a name without a
 * registry when nothing else matches (behaviour:images, credentials).
 */
export function lookUp(parts: readonly KeyringPart[], repository: string): Credential[] {
  const ring = new Map<string, Credential[]>();
  for (const { config, source } of parts) {
    for (const [registry, { username, password }] of config) {
      const key = keyOf(registry);
      const credential = { username, password, ...(source !== undefined && { source }) };
      ring.set(key, [...(ring.get(key) ?? []), credential]);
    }
  }
  const matching = [...ring.keys()].filter((key) => matchesRepository(key, repository));
  // Of two keys that match, the one with the longer path sorts later.
  const found = matching.sort((a, b) => (a < b ? 1 : -1)).flatMap((key) => ring.get(key) ?? []);
  if (found.length > 0 || !isOnDefaultRegistry(repository)) return found;
  return ring.get(DEFAULT_REGISTRY) ?? [];
}

/** Docker writes `https://index.docker.io/v1/`, which means only the host. */
function keyOf(registry: string): string {
  const address = registry.replace(/^https?:\/\//, '');
  const slash = address.indexOf('/');
  if (slash === -1) return address;
  const path = address.slice(slash).replace(/^\/v[12]\//, '/');
  return path === '/' ? address.slice(0, slash) : address.slice(0, slash) + path;
}
