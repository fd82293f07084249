import { type KubeObject, asText, at, boundTo, isVolumeOf, usesClaim, volumeFor } from '@kubus/kube-objects';
import { ADMIN } from '../identity.ts';
import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import { startController } from './controller.ts';

/** The finalizers that hold a claim while a pod uses it, and a volume while a claim has it. */
const PROTECTION = { claim: 'kubernetes.io/pvc-protection', volume: 'kubernetes.io/pv-protection' };

/**
 * Binds claims to volumes that exist, says in what phase both are, and lets go of those that are deleted and not in use. Nothing is
 * provisioned, and no data is removed: a volume whose claim is gone is Released. Returns a function that ends it.
 */
export function startVolumes(registry: Registry, onError: (error: Error) => void): () => void {
  const { store } = registry;
  const look = () => {
    for (const claim of store.list('persistentvolumeclaims')) lookAtClaim(registry, claim);
    for (const volume of store.list('persistentvolumes')) lookAtVolume(registry, volume);
  };
  return startController({ store, tables: ['persistentvolumeclaims', 'persistentvolumes', 'pods'], look, onError });
}

const nameOf = ({ kind, metadata: { namespace = '', name } }: KubeObject) => ({ kind, namespace, name });
const phaseOf = ({ status }: KubeObject) => asText(status?.['phase']);

function lookAtClaim(registry: Registry, claim: KubeObject): void {
  const { store } = registry;
  if (claim.metadata.deletionTimestamp !== undefined) {
    if (!store.list('pods').some((pod) => usesClaim(pod, claim))) release(registry, claim, PROTECTION.claim);
  } else if (phaseOf(claim) === 'Bound') {
    const volume = store.get('persistentvolumes', asText(at(claim, 'spec', 'volumeName')));
    if (volume === undefined || !isVolumeOf(volume, claim)) setPhase(registry, claim, 'Lost');
  } else if (phaseOf(claim) === 'Pending') {
    const volume = volumeFor(claim, store.list('persistentvolumes'));
    if (volume === undefined) return;
    const bound = boundTo(claim, volume);
    // The volume first: of a binding that is interrupted here, the next look finds the volume reserved.
    registry.replace(targetOf(nameOf(volume)), bound.volume);
    registry.replace(targetOf(nameOf(claim)), bound.claim);
  }
}

function lookAtVolume(registry: Registry, volume: KubeObject): void {
  const { namespace, name, uid } = (volume.spec?.['claimRef'] ?? {}) as Record<string, string | undefined>;
  const claim = registry.store.get('persistentvolumeclaims', `${namespace ?? ''}/${name ?? ''}`);
  const isHeld = uid !== undefined && claim?.metadata.uid === uid;
  if (volume.metadata.deletionTimestamp !== undefined && !isHeld) release(registry, volume, PROTECTION.volume);
  else setPhase(registry, volume, isHeld ? 'Bound' : uid === undefined ? 'Available' : 'Released');
}

function setPhase(registry: Registry, object: KubeObject, phase: string): void {
  if (phaseOf(object) === phase) return;
  registry.replace(targetOf(nameOf(object)), { ...object, status: { ...object.status, phase } });
}

/** The deletion goes on when nothing else holds it. */
function release(registry: Registry, object: KubeObject, finalizer: string): void {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) return;
  const left = finalizers.filter((one) => one !== finalizer);
  registry.patch(targetOf(nameOf(object)), { metadata: { finalizers: left } }, 'merge', { user: ADMIN });
}
