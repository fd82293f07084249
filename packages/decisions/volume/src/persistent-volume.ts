import type { PersistentVolume, Pod, PresentClaim, Volume } from '@kubus/contracts';
import { planCsiVolume } from './csi-volume.ts';
import { planLocal } from './local.ts';
import { planNfs } from './nfs.ts';
import type { VolumeSettings } from './folders.ts';
import type { KnownObjects } from './known.ts';
import type { HostStep, VolumePlan } from './step.ts';

/** A volume of a pod that is backed by a PersistentVolume. */
export interface PersistentUse {
  readonly pod: Pod;
  /** The volume in the pod's spec. */
  readonly volume: Volume;
  readonly claim: PresentClaim;
  readonly persistent: PersistentVolume;
  /** The pod mounts it read-only. */
  readonly readOnly: boolean;
  readonly known: KnownObjects;
  readonly settings: VolumeSettings;
}

/** How a volume is created from a PersistentVolume that is bound to its claim. */
export function planPersistentVolume(use: PersistentUse): VolumePlan {
  const { name } = use.volume;
  const { source, volumeMode } = use.persistent;
  switch (source.kind) {
    case 'hostPath': {
      // The reference does not support block devices of this kind either.
      if (volumeMode === 'Block') return unsupported(name, 'hostPath block');
      const step: HostStep = { kind: 'host', path: source.path, type: source.type, readOnly: use.readOnly };
      return { name, step };
    }
    case 'csi':
      return planCsiVolume(use, source);
    case 'local': {
      const { path, fsType } = source;
      return planLocal(use.pod, { ...common(use), path, fsType, block: volumeMode === 'Block' }, use.settings);
    }
    case 'nfs': {
      const { server, path } = source;
      if (volumeMode === 'Block') return unsupported(name, 'nfs block');
      // Only the user of a claim decides whether it is read-only (pkg/volume/nfs of the reference, getVolumeSource).
      return planNfs(use.pod, { ...common(use), server, path }, use.settings);
    }
    case 'other':
      return unsupported(name, source.name);
  }
}

/** The parts of a plan that all kinds of volumes get from their PersistentVolume and claim. */
function common({ volume, persistent, claim, readOnly }: PersistentUse) {
  const { namespace, name } = claim;
  const { mountOptions, name: specName } = persistent;
  return { name: volume.name, specName, mountOptions, readOnly, claim: { namespace, name } };
}

/** The plan of a volume of a kind that this node does not mount. */
export function unsupported(name: string, kind: string): VolumePlan {
  return { name, refusal: `this version of Kubus does not mount ${kind} volumes` };
}
