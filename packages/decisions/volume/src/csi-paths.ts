import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { csiDevice, csiFolder, pathPart, podFolder, volumesFolder } from './paths.ts';
import type { CsiStep } from './step.ts';

/** What identifies a CSI volume on this node. */
export type CsiVolumeName = Pick<CsiStep, 'driver' | 'volumeHandle' | 'specName' | 'block'>;

/** Where a driver stages a volume, and the file that records it (reference kubelet, pkg/volume/csi). */
export interface CsiStagingPlace {
  readonly staging: string;
  /** The folder of `vol_data.json`. */
  readonly data: string;
}

/** Paths of a device outside the pod's own folder. */
export interface CsiDevicePlace {
  /** Where the driver publishes it for one pod. */
  readonly published: string;
  /** Where the node holds it open for one pod, so that it stays the same device if its name changes. */
  readonly held: string;
}

/** The folder of all CSI data that does not belong to a single pod. */
function csiPluginFolder(root: string): string {
  return `${root}/plugins/kubernetes.io/csi`;
}

/** The folder in which plugins open their registration sockets. */
export function pluginRegistry(root: string): string {
  return `${root}/plugins_registry`;
}

/** Throws VolumePathError. */
export function csiStagingPlace(root: string, volume: CsiVolumeName): CsiStagingPlace {
  if (!volume.block) {
    const data = `${csiPluginFolder(root)}/${pathPart(volume.driver)}/${hash(volume.volumeHandle)}`;
    return { data, staging: `${data}/globalmount` };
  }
  const devices = csiDevicesFolder(root);
  const name = pathPart(volume.specName);
  return { data: `${devices}/${name}/data`, staging: `${devices}/staging/${name}` };
}

/** Throws VolumePathError. */
export function csiDevicePlace(root: string, uid: string, specName: string): CsiDevicePlace {
  const [devices, name, pod] = [csiDevicesFolder(root), pathPart(specName), pathPart(uid)];
  return { published: `${devices}/publish/${name}/${pod}`, held: `${devices}/${name}/dev/${pod}` };
}

function csiDevicesFolder(root: string): string {
  return `${csiPluginFolder(root)}/volumeDevices`;
}

/** The folders that contain a pod's CSI volumes, each under its spec name. Throws VolumePathError. */
export function podCsiFolders(root: string, uid: string): { readonly files: string; readonly devices: string } {
  return {
    files: `${volumesFolder(root, uid)}/kubernetes.io~csi`,
    devices: `${podFolder(root, uid)}/volumeDevices/kubernetes.io~csi`,
  };
}

/** The path of the volume in the pod. Throws VolumePathError. */
export function csiPodPath(root: string, uid: string, { specName, block }: CsiVolumeName): string {
  return (block ? csiDevice : csiFolder)(root, uid, specName);
}

/** The driver's handle of an inline volume. */
export function inlineVolumeHandle(uid: string, volume: string): string {
  return `csi-${hash(`${uid}${volume}`)}`;
}

/** The name of the VolumeAttachment that attaches a driver's volume to a node (reference kubelet, pkg/volume/csi). */
export function attachmentName(
  { driver, volumeHandle }: Pick<CsiVolumeName, 'driver' | 'volumeHandle'>,
  node: string,
): string {
  return `csi-${hash(`${volumeHandle}${driver}${node}`)}`;
}

function hash(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}
