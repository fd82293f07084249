import type { CsiPersistentVolume, ObjectReference, VolumeClaim } from '@kubus/contracts';

/** The driver's volume that is bound to a claim, if any. */
export function csiVolumeOf(claim: VolumeClaim | undefined): CsiPersistentVolume | undefined {
  const source = claim?.state === 'present' ? claim.volume?.source : undefined;
  return source?.kind === 'csi' ? source : undefined;
}

/** The Secrets that the driver receives for the volume. */
export function csiSecretsOf(volume: CsiPersistentVolume): ObjectReference[] {
  const { nodeStageSecret, nodePublishSecret, nodeExpandSecret } = volume;
  const secrets = [nodeStageSecret, nodePublishSecret, nodeExpandSecret].filter((one) => one !== undefined);
  return secrets.map((one) => ({ kind: 'Secret', ...one }));
}
