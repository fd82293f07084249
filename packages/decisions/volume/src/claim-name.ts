import type { ClaimName, Pod, Volume } from '@kubus/contracts';
import { neededVolumes } from './needed.ts';

/** The claim of a volume of the pod: the one that it names, or the one that is created for it (KEP-1698). */
export function claimOf({ metadata }: Pick<Pod, 'metadata'>, volume: Volume): ClaimName | undefined {
  const { namespace } = metadata;
  const { persistentVolumeClaim, ephemeral } = volume;
  if (persistentVolumeClaim !== undefined) return { namespace, name: persistentVolumeClaim.claimName };
  return ephemeral && { namespace, name: `${metadata.name}-${volume.name}` };
}

/** The claims that have to be mounted for the pod. */
export function claimsOf(pod: Pick<Pod, 'metadata' | 'spec'>): readonly ClaimName[] {
  return neededVolumes(pod).flatMap((volume) => claimOf(pod, volume) ?? []);
}
