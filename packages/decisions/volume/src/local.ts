import type { Pod } from '@kubus/contracts';
import { localDeviceLink, localDevicesFolder, localMountsFolder, podFolder, volumeFolder } from './paths.ts';
import type { VolumeOwnership } from './ownership.ts';
import type { ClaimReference, VolumePlan } from './step.ts';

/** A PersistentVolume on this node's own storage, as used by a pod. */
export interface LocalVolume {
  /** The volume's name in the pod. */
  readonly name: string;
  /** The name of the PersistentVolume. */
  readonly specName: string;
  readonly path: string;
  readonly fsType?: string | undefined;
  readonly block: boolean;
  readonly mountOptions: readonly string[];
  /** The pod mounts it read-only. */
  readonly readOnly: boolean;
  readonly claim?: ClaimReference;
}

const DEFAULT_FS = 'ext4';
const PLUGIN = 'local-volume';

/** How a local PersistentVolume is created (behaviour:volumes, local). Throws VolumePathError. */
export function planLocal(pod: Pod, volume: LocalVolume, { root }: { readonly root: string }): VolumePlan {
  const { name, specName, path: source, fsType = DEFAULT_FS, block, mountOptions, readOnly, claim } = volume;
  const { uid } = pod.metadata;
  if (source.split('/').includes('..')) return { name, refusal: `invalid path: ${source} must not contain '..'` };
  if (block) {
    const path = localDeviceLink(root, uid, specName);
    // The link's path has already validated the name.
    const held = `${localDevicesFolder(root)}/${specName}/${podFolder('', uid).split('/').at(-1) ?? ''}`;
    return { name, step: { kind: 'localDevice', path, source, held } };
  }
  const path = volumeFolder(root, { uid, plugin: PLUGIN, name: specName });
  const deviceFolder = `${localMountsFolder(root)}/${specName}`;
  const ownership = readOnly ? undefined : podOwnership(pod);
  const rest = { ...(ownership && { ownership }), ...(claim && { claim }) };
  return {
    name,
    step: { kind: 'local', path, uid, specName, source, deviceFolder, fsType, mountOptions, readOnly, ...rest },
  };
}

/** The ownership that the pod requires of a volume to which it can write; undefined where it requires none. */
function podOwnership({ spec }: Pick<Pod, 'spec'>): VolumeOwnership | undefined {
  const { fsGroup: gid, fsGroupChangePolicy: policy } = spec.securityContext ?? {};
  return gid === undefined ? undefined : { gid, readOnly: false, ...(policy !== undefined && { policy }) };
}
