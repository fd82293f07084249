/** Docker Hub's name in docker config files; without scheme and path, as in the keys. */
export const DEFAULT_REGISTRY = 'index.docker.io';

interface Address {
  /** The labels of the host name, separated by dots. */
  readonly host: readonly string[];
  readonly port: string;
  /** With its leading slash; empty where there is none. */
  readonly path: string;
}

function addressOf(text: string): Address {
  const slash = text.indexOf('/');
  const authority = slash === -1 ? text : text.slice(0, slash);
  const [, host = authority, port = ''] = /^(.*):([^:\]]*)$/.exec(authority) ?? [];
  // The brackets of an IPv6 address would be a character set in a glob.
  const name = host.replace(/^\[(.*)\]$/, '$1');
  return { host: name.split('.'), port, path: slash === -1 ? '' : text.slice(slash) };
}

/**
 * Whether credentials for `pattern` apply to `repository` (registry and path, no tag): the same port, the same number of
 * host labels, each matching as a glob, and a path that starts with the pattern's. `*.io` does not match `*.r.io`, and a pattern
 * without a port does not match one with a port (Kubernetes documentation, "Pull an image from a private registry").
 */
export function matchesRepository(pattern: string, repository: string): boolean {
  const wanted = addressOf(pattern);
  const address = addressOf(repository);
  return (
    wanted.port === address.port &&
    wanted.host.length === address.host.length &&
    address.path.startsWith(wanted.path) &&
    wanted.host.every((part, index) => matchesGlob(part, address.host[index] ?? ''))
  );
}

/** Shell globs: `*`, `?`, sets such as `[a-z]` and `[^a]`. A malformed one matches nothing. */
function matchesGlob(glob: string, text: string): boolean {
  const source = glob.replaceAll(/\[\^?[^\]]+\]|[\s\S]/g, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.length > 1) return part.replaceAll('\\', '\\\\');
    return part.replace(/[\\^$.|+()[\]{}]/, '\\$&');
  });
  try {
    return new RegExp(`^${source}$`).test(text);
  } catch {
    return false;
  }
}

/** Whether a repository is on Docker Hub: by its name, or because it names no registry. */
export function isOnDefaultRegistry(repository: string): boolean {
  const [first = '', ...rest] = repository.split('/');
  if (first === '') return false;
  if (rest.length === 0 || first === 'docker.io' || first === DEFAULT_REGISTRY) return true;
  return !/[.:]/.test(first);
}

/** The registry part of a repository's name. */
export function registryOf(repository: string): string {
  return repository.split('/', 1)[0] ?? repository;
}
