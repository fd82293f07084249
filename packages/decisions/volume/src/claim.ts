import {
  type ClaimName,
  type PersistentVolume,
  type Pod,
  type PresentClaim,
  type Volume,
  type VolumeClaim,
  claimKey,
} from '@kubus/contracts';
import { usedVolumes } from './needed.ts';
import { planPersistentVolume } from './persistent-volume.ts';
import type { VolumePlan } from './step.ts';
import type { VolumeSettings } from './folders.ts';
import type { KnownObjects } from './known.ts';

/** A claim with its PersistentVolume, or the problem of one of them, for the pod's user. */
type Bound = { readonly claim: PresentClaim; readonly persistent: PersistentVolume } | { readonly error: string };

/**
 * How a volume that refers to a claim is created: as specified by the PersistentVolume that is bound to the claim. Problems of a
 * claim have the reference's texts (pkg/kubelet/volumemanager/populator; behaviour:volumes, Loops).
 */
export function planClaim(
  pod: Pod,
  volume: Volume,
  name: ClaimName,
  settings: VolumeSettings,
  known: KnownObjects,
): VolumePlan {
  const claim = known.claim(name);
  if (claim === undefined) return { name: volume.name, awaits: `claim ${claimKey(name)} from the API server` };
  const bound = boundVolume(pod, volume, claim);
  if (bound === undefined) {
    return { name: volume.name, awaits: `the volume of claim ${claimKey(name)} from the API server` };
  }
  if ('error' in bound) return { name: volume.name, refusal: bound.error, at: 'claim' };
  const wrongMode = modeProblem(pod, volume, bound.persistent);
  if (wrongMode !== undefined) return { name: volume.name, refusal: wrongMode, at: 'claim' };
  const { persistent } = bound;
  const plan = planPersistentVolume({ pod, volume, ...bound, readOnly: isReadOnly(volume), known, settings });
  const gid = groupOf(persistent);
  return { ...plan, specName: persistent.name, ...(gid !== undefined && { gid }) };
}

/** Undefined: it is not known yet. */
function boundVolume(pod: Pod, volume: Volume, claim: VolumeClaim): Bound | undefined {
  const key = claimKey(claim);
  const problem = (error: string) => ({ error: `error processing PVC ${key}: ${error}` });
  if (claim.state !== 'present') {
    const said = claim.state === 'missing' ? `persistentvolumeclaims "${claim.name}" not found` : claim.message;
    return problem(`failed to fetch PVC from API server: ${said}`);
  }
  // A protected claim is kept until its last pod has ended, and pods that use it keep it protected.
  if (claim.deleting && !claim.protected) return problem('PVC is being deleted');
  if (claim.phase !== 'Bound') return problem('PVC is not bound');
  if (claim.volumeName === undefined) return problem('PVC has empty pvc.Spec.VolumeName');
  if (volume.ephemeral !== undefined && claim.controllerUid !== pod.metadata.uid) {
    const { namespace, name } = pod.metadata;
    return { error: `PVC ${key} was not created for pod ${namespace}/${name} (pod is not owner)` };
  }
  const { volume: persistent, volumeProblem, volumeName, uid } = claim;
  if (volumeProblem !== undefined) return problem(`failed to fetch PV ${volumeName} from API server: ${volumeProblem}`);
  if (persistent === undefined) return undefined;
  if (persistent.claimUid === undefined) {
    return problem(
      `found PV object ${volumeName} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (persistent.claimUid !== uid) {
    const found = `pv.Spec.ClaimRef.UID ${persistent.claimUid} does not point to claim.UID ${uid}`;
    return problem(`found PV object ${volumeName} but its ${found}`);
  }
  return { claim, persistent };
}

function modeProblem(pod: Pod, { name }: Volume, { volumeMode }: PersistentVolume): string | undefined {
  const { files, devices } = usedVolumes(pod);
  const where =
    files.has(name) && volumeMode !== 'Filesystem'
      ? 'volumeMounts'
      : devices.has(name) && volumeMode !== 'Block'
        ? 'volumeDevices'
        : undefined;
  return where && `volume ${name} has volumeMode ${volumeMode}, but is specified in ${where}`;
}

/** As specified by the pod. The PersistentVolume's own field applies to attaching it. */
function isReadOnly({ persistentVolumeClaim }: Volume): boolean {
  return persistentVolumeClaim?.readOnly === true;
}

/** A group that is not a number is ignored. */
function groupOf({ gid = '' }: PersistentVolume): number | undefined {
  return /^\d+$/.test(gid) ? Number(gid) : undefined;
}
