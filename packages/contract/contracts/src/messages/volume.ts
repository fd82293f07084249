import * as z from 'zod';
import { command, event, fact } from '../declare.ts';
import { podEventSchema, podRefSchema } from './common.ts';
import { environmentPlanSchema } from './container-process.ts';
import { objectVersionSchema } from './object.ts';

/** A volume that is mounted for the pod's containers. */
export const mountedVolumeSchema = z.object({
  /** Absolute path on the host that a container mounts. */
  hostPath: z.string(),
  /** The volume itself is read-only, whatever a mount specifies. */
  readOnly: z.boolean().optional(),
  /** The runtime has to relabel it for SELinux. */
  relabel: z.boolean().optional(),
  /** It is a block device, which containers receive as a device. */
  device: z.boolean().optional(),
});
export type MountedVolume = z.infer<typeof mountedVolumeSchema>;

export const podVolumesSchema = z.object({
  ref: podRefSchema,
  /** Every volume of the pod that its containers mount is in `volumes`. */
  ready: z.boolean(),
  volumes: z.record(z.string(), mountedVolumeSchema),
  /** For the pod's user: why volumes are not mounted, or not mounted as they should be. Missing when there is no such volume. */
  errors: z.array(z.string()).min(1).optional(),
  /** What has to be known or done before the remaining volumes can be created. */
  awaits: z.array(z.string()).min(1).optional(),
  /** A volume is larger than its limit: why the pod is evicted. */
  excess: z.object({ message: z.string() }).optional(),
  /** Groups that the volumes require: all processes of the pod are members. */
  supplementalGroups: z.array(z.int()).min(1).optional(),
});
export type PodVolumes = z.infer<typeof podVolumesSchema>;

export const podVolumes = fact({
  area: 'volume',
  name: 'mounts',
  key: 'pod',
  owner: 'volume-manager',
  payload: podVolumesSchema,
  about:
    'The volumes of a pod that exist now. Removed when all volumes of the pod are unmounted and removed; missing for a pod whose containers need none.',
});

export const volumeEvent = event({
  area: 'volume',
  name: 'recorded',
  key: 'pod',
  publisher: 'volume-manager',
  payload: podEventSchema,
  about: 'A Kubernetes event about a pod’s volumes, for its user.',
});

const subPathMountSchema = z.object({
  /** Its position among the container’s mounts. */
  index: z.int().nonnegative(),
  volume: z.string(),
  subPath: z.string().optional(),
  /** With references to the container’s variables. */
  subPathExpr: z.string().optional(),
});
export type SubPathMount = z.infer<typeof subPathMountSchema>;

const subPathsRequestSchema = z.object({
  ref: podRefSchema,
  container: z.string(),
  mounts: z.array(subPathMountSchema).min(1),
  /** The container’s variables, which paths may refer to. */
  environment: environmentPlanSchema,
  /** The objects that complete the variables. Objects that are not listed do not exist. */
  objects: z.array(objectVersionSchema),
});
export type SubPathsRequest = z.infer<typeof subPathsRequestSchema>;

export const prepareSubPaths = command({
  area: 'volume',
  name: 'prepareSubPaths',
  key: 'pod',
  server: 'volume-manager',
  fenced: false,
  request: subPathsRequestSchema,
  result: z.object({
    /** By the mount’s index: the absolute path on the host to mount into the container. */
    paths: z.record(z.string(), z.string()),
  }),
  about:
    'Prepare the subpaths of volumes that one container mounts, so that no symbolic link can lead out of the volume. Fails with the code CreateContainerConfigError when the pod is the reason, and with VolumesNotReady while a volume is not mounted.',
});

const bytesOrFiles = z.number().nonnegative();

export const volumeStatsSchema = z.object({
  name: z.string(),
  /** The claim of a volume that outlives its pods. */
  claim: z.object({ namespace: z.string(), name: z.string() }).optional(),
  /** The volume is in the node's own file system and is removed with the pod. */
  local: z.boolean(),
  capacityBytes: bytesOrFiles,
  availableBytes: bytesOrFiles,
  usedBytes: bytesOrFiles,
  inodes: bytesOrFiles,
  inodesFree: bytesOrFiles,
  inodesUsed: bytesOrFiles,
  /** Milliseconds since the Unix epoch. */
  readAt: z.number(),
});
export type VolumeStats = z.infer<typeof volumeStatsSchema>;

export const volumeStats = command({
  area: 'volume',
  name: 'stats',
  key: 'name',
  server: 'volume-manager',
  fenced: false,
  request: z.object({}),
  result: z.object({
    /** By the pod’s UID. A value that cannot be determined is missing. */
    pods: z.record(z.string(), z.array(volumeStatsSchema)),
  }),
  about: 'The capacity and usage of the volumes of all pods, read within the last minute. The key is the node’s name.',
});

export const csiPluginSchema = z.object({
  driver: z.string(),
  /** The driver's id of this node. */
  nodeId: z.string(),
  /** The maximum number of its volumes on this node; missing: the driver does not report it. */
  maxVolumes: z.int().optional(),
  /** The node's topology as reported by the driver: a value for each of its keys. */
  topology: z.record(z.string(), z.string()),
});
export type CsiPlugin = z.infer<typeof csiPluginSchema>;

export const csiPlugin = fact({
  area: 'volume',
  name: 'plugin',
  key: 'name',
  owner: 'volume-manager',
  payload: csiPluginSchema,
  about: 'A CSI driver that is registered on this node, keyed by its name. Removed when it is unregistered.',
});

export const volumesInUseSchema = z.object({
  /** Unique names of the attachable volumes that pods of this node are to use or have mounted. */
  volumes: z.array(z.string()),
});
export type VolumesInUse = z.infer<typeof volumesInUseSchema>;

export const volumesInUse = fact({
  area: 'volume',
  name: 'inUse',
  key: 'name',
  owner: 'volume-manager',
  payload: volumesInUseSchema,
  about:
    'The volumes to report in volumesInUse of the Node object’s status, keyed by the node’s name: they are not detached, and those that are not yet attached will be.',
});

export const claimExpansionSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  claimUid: z.string(),
  /** The current size of the claim, as a quantity. */
  capacity: z.string(),
});
export type ClaimExpansion = z.infer<typeof claimExpansionSchema>;

export const claimExpansion = fact({
  area: 'volume',
  name: 'expansion',
  key: 'name',
  owner: 'volume-manager',
  payload: claimExpansionSchema,
  about:
    'The file system of a claim has been expanded to the size of its volume; keyed by `namespace/name`. Removed when the claim itself shows the size, or when nothing on this node uses it.',
});
