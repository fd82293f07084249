import { KubusError } from '@kubus/ports';

/** A name would lead out of the folder that it is in. */
export class VolumePathError extends KubusError {}

/** Folder of all pods below the node's folder for them (the kubelet's root). */
export function podsFolder(root: string): string {
  return `${root}/pods`;
}

/** Folder of a pod's own files: `<root>/pods/<uid>`. Throws {@link VolumePathError}. */
export function podFolder(root: string, uid: string): string {
  return `${podsFolder(root)}/${part(uid)}`;
}

/** Folder of a pod's volumes, laid out as the kubelet's. Throws {@link VolumePathError}. */
export function volumesFolder(root: string, uid: string): string {
  return `${podFolder(root, uid)}/volumes`;
}

/** Folder of an emptyDir volume. Throws {@link VolumePathError}. */
export function emptyDirFolder(root: string, uid: string, name: string): string {
  return `${volumesFolder(root, uid)}/kubernetes.io~empty-dir/${part(name)}`;
}

/** With another name a folder would be made, or removed, somewhere else. */
function part(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new VolumePathError('bad-path', `${JSON.stringify(name)} can not be the name of a folder`);
}
