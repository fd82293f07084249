import type { ObjectVersion } from '@kubus/contracts';

/** The socket's routes, as fastify writes them (docs/object-socket.md). */
export const objectRoute = '/objects/:kind/:namespace/:name';
export const serviceAccountRoute = '/serviceaccounts/:namespace/:name';
export const tokenRoute = '/tokens/:namespace/:name';

/** What is named by its namespace and its own name. */
export interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Where an object is asked for at one version. */
export function objectPath({ kind, version, ...named }: ObjectVersion): string {
  return `/objects/${kind}/${namedPath(named)}?version=${encodeURIComponent(version)}`;
}

/** Where a service account is asked for. */
export function serviceAccountPath(account: Named): string {
  return `/serviceaccounts/${namedPath(account)}`;
}

/** Where a token of a service account is asked for. */
export function tokenPath(account: Named): string {
  return `/tokens/${namedPath(account)}`;
}

function namedPath({ namespace, name }: Named): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
