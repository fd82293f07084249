import { KubusError } from '@kubus/ports';

/** Thrown when a name would lead to a path outside its folder. */
export class VolumePathError extends KubusError {}

/** The folder of all pods, below the node's pod folder (the kubelet's root directory). */
export function podsFolder(root: string): string {
  return `${root}/pods`;
}

/** Folder of a pod's own files: `<root>/pods/<uid>`. Throws {@link VolumePathError}. */
export function podFolder(root: string, uid: string): string {
  return `${podsFolder(root)}/${pathPart(uid)}`;
}

/** Folder of a pod's volumes, with the kubelet's layout. Throws {@link VolumePathError}. */
export function volumesFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volumes`;
}

/** Folder of an emptyDir volume. Throws {@link VolumePathError}. */
export function emptyDirFolder(root: string, uid: string, name: string): string {
  return volumeFolder(root, { uid, plugin: 'empty-dir', name });
}

/** Folder of a volume; the plugin's name is the reference's. Throws {@link VolumePathError}. */
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

/** Folder of the mount points of local devices; each one serves all pods that use the device. */
export function localMountsFolder(root: string): string {
  return `${root}/plugins/kubernetes.io/local-volume/mounts`;
}

/** Folder that contains a folder for each local device, with one file for each pod that uses it. */
export function localDevicesFolder(root: string): string {
  return `${root}/plugins/kubernetes.io~local-volume/volumeDevices`;
}

/** Mount point of a CSI driver's file system in a pod. Throws {@link VolumePathError}. */
export function csiFolder(root: string, uid: string, specName: string): string {
  return `${volumesFolder(root, uid)}/kubernetes.io~csi/${pathPart(specName)}/mount`;
}

/** Path of a CSI driver's block device in a pod. Throws {@link VolumePathError}. */
export function csiDevice(root: string, uid: string, specName: string): string {
  return `${podFolder(root, uid)}/volumeDevices/kubernetes.io~csi/${pathPart(specName)}`;
}

/** Folder of the parts of a pod's volumes that containers mount. Throws {@link VolumePathError}. */
export function subPathsFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volume-subpaths`;
}

/** A container's mount of a part of a volume. */
export interface SubPathPlace {
  readonly uid: string;
  readonly volume: string;
  readonly container: string;
  /** Its position among the container's mounts. */
  readonly index: number;
}

/** The path that such a mount shows, with the kubelet's layout. Throws {@link VolumePathError}. */
export function subPathPlace(root: string, { uid, volume, container, index }: SubPathPlace): string {
  return `${subPathsFolder(root, uid)}/${pathPart(volume)}/${pathPart(container)}/${index}`;
}

/** With other names, folders outside would be created or removed. */
export function pathPart(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new VolumePathError('bad-path', `${JSON.stringify(name)} cannot be the name of a folder`);
}
