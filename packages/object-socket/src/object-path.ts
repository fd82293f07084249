import type { ObjectVersion } from '@kubus/contracts';

/** The socket's one route, as fastify writes it (docs/object-socket.md). */
export const objectRoute = '/objects/:kind/:namespace/:name';

/** Where an object is asked for at one version. */
export function objectPath({ kind, namespace, name, version }: ObjectVersion): string {
  return `/objects/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`;
}
