import * as z from 'zod';
import { fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

/** A volume that is there for the pod's containers. */
export const mountedVolumeSchema = z.object({
  /** Absolute path on the host that a container's mount shows. */
  hostPath: z.string(),
  /** The volume itself can not be written, whatever a mount says. */
  readOnly: z.boolean().optional(),
  /** The runtime is to relabel it for SELinux. */
  relabel: z.boolean().optional(),
});
export type MountedVolume = z.infer<typeof mountedVolumeSchema>;

export const podVolumesSchema = z.object({
  ref: podRefSchema,
  /** Every volume of the pod that its containers mount is in `volumes`. */
  ready: z.boolean(),
  volumes: z.record(z.string(), mountedVolumeSchema),
  /** Why volumes are not there, for the pod's user: the texts of the events FailedMount. Missing when there is no such volume. */
  errors: z.array(z.string()).min(1).optional(),
});
export type PodVolumes = z.infer<typeof podVolumesSchema>;

export const podVolumes = fact({
  area: 'volume',
  name: 'mounts',
  key: 'pod',
  owner: 'volume-manager',
  payload: podVolumesSchema,
  about: 'The volumes of a pod that are there now. Gone when everything of the pod is unmounted and removed.',
});
