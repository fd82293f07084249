import * as z from 'zod';
import { command, event, fact } from '../declare.ts';
import { podEventSchema, podRefSchema } from './common.ts';
import { environmentPlanSchema } from './container-process.ts';
import { objectVersionSchema } from './object.ts';

/** A volume that is there for the pod's containers. */
export const mountedVolumeSchema = z.object({
  /** Absolute path on the host that a container's mount shows. */
  hostPath: z.string(),
  /** The volume itself can not be written, whatever a mount says. */
  readOnly: z.boolean().optional(),
  /** The runtime is to relabel it for SELinux. */
  relabel: z.boolean().optional(),
  /** It is a block device, which containers get as such. */
  device: z.boolean().optional(),
});
export type MountedVolume = z.infer<typeof mountedVolumeSchema>;

export const podVolumesSchema = z.object({
  ref: podRefSchema,
  /** Every volume of the pod that its containers mount is in `volumes`. */
  ready: z.boolean(),
  volumes: z.record(z.string(), mountedVolumeSchema),
  /** Why volumes are not there or not as they should be, for the pod's user. Missing when there is no such volume. */
  errors: z.array(z.string()).min(1).optional(),
  /** What has to be known or done before other volumes can be made. */
  awaits: z.array(z.string()).min(1).optional(),
  /** A volume is larger than it may be: why the pod is evicted. */
  excess: z.object({ message: z.string() }).optional(),
  /** Groups that the volumes ask for: all processes of the pod are in them. */
  supplementalGroups: z.array(z.int()).min(1).optional(),
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

export const volumeEvent = event({
  area: 'volume',
  name: 'recorded',
  key: 'pod',
  publisher: 'volume-manager',
  payload: podEventSchema,
  about: 'Something about a pod’s volumes worth telling its user, as a Kubernetes Event would.',
});

const subPathMountSchema = z.object({
  /** Where it stands among the container’s mounts. */
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
  /** The container’s variables, of which some may be part of a path. */
  environment: environmentPlanSchema,
  /** What the variables are completed with. Objects that are not listed do not exist. */
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
    /** By the mount’s index: the absolute path on the host that the container’s mount is to show. */
    paths: z.record(z.string(), z.string()),
  }),
  about:
    'Make the paths inside of volumes ready that one container mounts, in a way that nobody can lead out of the volume. Fails with the code CreateContainerConfigError when it is the pod’s fault, and with VolumesNotReady while a volume is not there.',
});

const bytesOrFiles = z.number().nonnegative();

export const volumeStatsSchema = z.object({
  name: z.string(),
  /** Of a volume that outlives its pods. */
  claim: z.object({ namespace: z.string(), name: z.string() }).optional(),
  /** It is in the node's own file system and ends with the pod. */
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
    /** By the pod’s UID. What can not be told is missing. */
    pods: z.record(z.string(), z.array(volumeStatsSchema)),
  }),
  about:
    'What the volumes of all pods have and what of it is used, read within the last minute. The key is the node’s name.',
});

export const csiPluginSchema = z.object({
  driver: z.string(),
  /** How the driver knows this node. */
  nodeId: z.string(),
  /** How many of its volumes the node can have; missing: the driver does not say. */
  maxVolumes: z.int().optional(),
  /** Where the node is, as the driver sees it: a value for each of its keys. */
  topology: z.record(z.string(), z.string()),
});
export type CsiPlugin = z.infer<typeof csiPluginSchema>;

export const csiPlugin = fact({
  area: 'volume',
  name: 'plugin',
  key: 'name',
  owner: 'volume-manager',
  payload: csiPluginSchema,
  about: 'A CSI driver that has registered itself on this node, keyed by its name. Gone when it has left.',
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
    'What the Node’s status has to name in volumesInUse, keyed by the node’s name: none of these volumes is detached, and those to come are attached.',
});

export const claimExpansionSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  claimUid: z.string(),
  /** A quantity: what the claim has now. */
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
    'The file system of a claim has been made as large as its volume; keyed by `namespace/name`. Gone when the claim says so itself or nothing on this node uses it.',
});
