import type { Pod } from '@kubus/contracts';
import { volumeFolder } from './paths.ts';
import type { ClaimReference, VolumePlan } from './step.ts';

/** A folder of an NFS server, as a pod uses it: named in its manifest, or by a PersistentVolume. */
export interface NfsVolume {
  /** As the pod names it. */
  readonly name: string;
  /** The name of the PersistentVolume, or the volume's own. */
  readonly specName: string;
  readonly server: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  readonly claim?: ClaimReference;
}

/** How an NFS volume is made (kubelet behaviour 1.13, nfs). Throws VolumePathError. */
export function planNfs(pod: Pod, volume: NfsVolume, { root }: { readonly root: string }): VolumePlan {
  const { name, specName, server, readOnly, mountOptions, claim } = volume;
  const path = volumeFolder(root, { uid: pod.metadata.uid, plugin: 'nfs', name: specName });
  // The address of an IPv6 server has colons of its own.
  const host = server.includes(':') ? `[${server}]` : server;
  const options = [...new Set([...mountOptions.filter(Boolean), ...(readOnly ? ['ro'] : [])])];
  const source = `${host}:${volume.path}`;
  return { name, step: { kind: 'nfs', path, source, options, readOnly, ...(claim && { claim }) } };
}
