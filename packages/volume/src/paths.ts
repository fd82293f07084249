import { KubusError } from '@kubus/ports';

/** A name would lead out of the folder that it is in. */
export class VolumePathError extends KubusError {}

/** Folder of all pods below the node's folder for them (the kubelet's root). */
export function podsFolder(root: string): string {
  return `${root}/pods`;
}

/** Folder of a pod's own files: `<root>/pods/<uid>`. Throws {@link VolumePathError}. */
export function podFolder(root: string, uid: string): string {
  return `${podsFolder(root)}/${pathPart(uid)}`;
}

/** Folder of a pod's volumes, laid out as the kubelet's. Throws {@link VolumePathError}. */
export function volumesFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volumes`;
}

/** Folder of an emptyDir volume. Throws {@link VolumePathError}. */
export function emptyDirFolder(root: string, uid: string, name: string): string {
  return volumeFolder(root, { uid, plugin: 'empty-dir', name });
}

/** Folder of a volume, whose plugin has its name from the reference. Throws {@link VolumePathError}. */
export function volumeFolder(root: string, volume: { uid: string; plugin: string; name: string }): string {
  return `${volumesFolder(root, volume.uid)}/kubernetes.io~${volume.plugin}/${pathPart(volume.name)}`;
}

/** Folder of the links to a pod's devices. Throws {@link VolumePathError}. */
export function volumeDevicesFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volumeDevices`;
}

/** A local volume's link to its device. Throws {@link VolumePathError}. */
export function localDeviceLink(root: string, uid: string, specName: string): string {
  return `${volumeDevicesFolder(root, uid)}/kubernetes.io~local-volume/${pathPart(specName)}`;
}

/** Folder of the folders on which local devices are mounted, each for all pods that use it. */
export function localMountsFolder(root: string): string {
  return `${root}/plugins/kubernetes.io/local-volume/mounts`;
}

/** Folder of the folders with files that are local devices, one for each pod that uses it. */
export function localDevicesFolder(root: string): string {
  return `${root}/plugins/kubernetes.io~local-volume/volumeDevices`;
}

/** Where a pod has a file system that a CSI driver makes. Throws {@link VolumePathError}. */
export function csiFolder(root: string, uid: string, specName: string): string {
  return `${volumesFolder(root, uid)}/kubernetes.io~csi/${pathPart(specName)}/mount`;
}

/** Where a pod has a block device that a CSI driver makes. Throws {@link VolumePathError}. */
export function csiDevice(root: string, uid: string, specName: string): string {
  return `${podFolder(root, uid)}/volumeDevices/kubernetes.io~csi/${pathPart(specName)}`;
}

/** Folder of what containers mount out of a pod's volumes. Throws {@link VolumePathError}. */
export function subPathsFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volume-subpaths`;
}

/** One mount of a container that shows a part of a volume. */
export interface SubPathPlace {
  readonly uid: string;
  readonly volume: string;
  readonly container: string;
  /** Where it stands among the container's mounts. */
  readonly index: number;
}

/** What such a mount shows, laid out as the kubelet's. Throws {@link VolumePathError}. */
export function subPathPlace(root: string, { uid, volume, container, index }: SubPathPlace): string {
  return `${subPathsFolder(root, uid)}/${pathPart(volume)}/${pathPart(container)}/${index}`;
}

/** With another name a folder would be made, or removed, somewhere else. */
export function pathPart(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new VolumePathError('bad-path', `${JSON.stringify(name)} can not be the name of a folder`);
}
