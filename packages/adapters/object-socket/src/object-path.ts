import type { ObjectVersion } from '@kubus/contracts';

/** The socket's routes, as fastify writes them (docs/object-socket.md). */
export const objectRoute = '/objects/:kind/:namespace/:name';
export const serviceAccountRoute = '/serviceaccounts/:namespace/:name';
export const tokenRoute = '/tokens/:namespace/:name';

/** An object identified by namespace and name. */
export interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The path of an object at one version. */
export function objectPath({ kind, version, ...named }: ObjectVersion): string {
  return `/objects/${kind}/${namedPath(named)}?version=${encodeURIComponent(version)}`;
}

/** The path of a service account. */
export function serviceAccountPath(account: Named): string {
  return `/serviceaccounts/${namedPath(account)}`;
}

/** The path of tokens of a service account. */
export function tokenPath(account: Named): string {
  return `/tokens/${namedPath(account)}`;
}

function namedPath({ namespace, name }: Named): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
