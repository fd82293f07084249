import type { Pod } from '@kubus/contracts';

/**
 * The user as whom all containers of the pod run, according to its manifest; undefined where one does not set it, or they differ.
 * This user owns files with tokens (KEP-1205, file permission).
 */
export function fileOwner({ spec }: Pick<Pod, 'spec'>): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const users = new Set(
    containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
