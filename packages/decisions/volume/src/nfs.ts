import type { Pod } from '@kubus/contracts';
import { volumeFolder } from './paths.ts';
import type { ClaimReference, VolumePlan } from './step.ts';

/** A folder of an NFS server, as used by a pod: specified in its manifest, or by a PersistentVolume. */
export interface NfsVolume {
  /** The volume's name in the pod. */
  readonly name: string;
  /** The name of the PersistentVolume, or the volume's own. */
  readonly specName: string;
  readonly server: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  readonly claim?: ClaimReference;
}

/** How an NFS volume is mounted (behaviour:volumes, nfs). Throws VolumePathError. */
export function planNfs(pod: Pod, volume: NfsVolume, { root }: { readonly root: string }): VolumePlan {
  const { name, specName, server, readOnly, mountOptions, claim } = volume;
  const path = volumeFolder(root, { uid: pod.metadata.uid, plugin: 'nfs', name: specName });
  // The address of an IPv6 server itself contains colons.
  const host = server.includes(':') ? `[${server}]` : server;
  const options = [...new Set([...mountOptions.filter(Boolean), ...(readOnly ? ['ro'] : [])])];
  const source = `${host}:${volume.path}`;
  return { name, step: { kind: 'nfs', path, source, options, readOnly, ...(claim && { claim }) } };
}
