import * as z from 'zod';
import { fact } from '../declare.ts';
import { quantity } from '../pod/fields.ts';

const secret = z.object({ namespace: z.string(), name: z.string() }).optional();
const volumeMode = z.enum(['Filesystem', 'Block']);

/** The kind of a PersistentVolume; `other`: a kind that this node does not mount. */
export const persistentVolumeSourceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hostPath'), path: z.string(), type: z.string() }),
  z.object({ kind: z.literal('local'), path: z.string(), fsType: z.string().optional() }),
  z.object({ kind: z.literal('nfs'), server: z.string(), path: z.string(), readOnly: z.boolean() }),
  z.object({
    kind: z.literal('csi'),
    driver: z.string(),
    volumeHandle: z.string(),
    fsType: z.string().optional(),
    readOnly: z.boolean(),
    volumeAttributes: z.record(z.string(), z.string()),
    nodeStageSecret: secret,
    nodePublishSecret: secret,
    nodeExpandSecret: secret,
  }),
  /** `name`: the field of the PersistentVolume's spec, such as `iscsi`. */
  z.object({ kind: z.literal('other'), name: z.string() }),
]);
export type PersistentVolumeSource = z.infer<typeof persistentVolumeSourceSchema>;
export type CsiPersistentVolume = Extract<PersistentVolumeSource, { kind: 'csi' }>;

export const persistentVolumeSchema = z.object({
  name: z.string(),
  uid: z.string(),
  /** UID of the claim that it belongs to. */
  claimUid: z.string().optional(),
  accessModes: z.array(z.string()),
  volumeMode,
  mountOptions: z.array(z.string()),
  capacity: quantity.optional(),
  /** Annotation `pv.beta.kubernetes.io/gid`: a group that may use the volume’s files. */
  gid: z.string().optional(),
  source: persistentVolumeSourceSchema,
});
export type PersistentVolume = z.infer<typeof persistentVolumeSchema>;

const claimName = z.object({ namespace: z.string(), name: z.string() });
export type ClaimName = z.infer<typeof claimName>;

/** The key of a claim's facts. */
export function claimKey({ namespace, name }: ClaimName): string {
  return `${namespace}/${name}`;
}

/** A PersistentVolumeClaim that pods of this node use, with its volume. */
export const volumeClaimSchema = z.discriminatedUnion('state', [
  claimName.extend({
    state: z.literal('present'),
    uid: z.string(),
    /** Its deletion was requested. */
    deleting: z.boolean(),
    /** It is not deleted while a pod uses it (finalizer `kubernetes.io/pvc-protection`). */
    protected: z.boolean(),
    /** UID of the object that controls it: the pod of an ephemeral volume. */
    controllerUid: z.string().optional(),
    phase: z.string(),
    volumeName: z.string().optional(),
    volumeMode,
    accessModes: z.array(z.string()),
    /** The requested and the current size. */
    requested: quantity.optional(),
    capacity: quantity.optional(),
    /** The node has to expand the file system (condition `FileSystemResizePending`). */
    resizePending: z.boolean(),
    /** Once it is bound. */
    volume: persistentVolumeSchema.optional(),
    /** Why its volume could not be read, in the API server’s words. */
    volumeProblem: z.string().optional(),
  }),
  /** The API server has no such claim. */
  claimName.extend({ state: z.literal('missing') }),
  /** The API server refused or failed to return it; the message is in its own words. */
  claimName.extend({ state: z.literal('refused'), message: z.string() }),
]);
export type VolumeClaim = z.infer<typeof volumeClaimSchema>;
export type PresentClaim = Extract<VolumeClaim, { state: 'present' }>;

export const volumeClaim = fact({
  area: 'object',
  name: 'claim',
  key: 'name',
  owner: 'object-cache',
  payload: volumeClaimSchema,
  about:
    'A PersistentVolumeClaim that a pod of this node uses, with its volume; keyed by `namespace/name`. Removed some time after the last pod that uses it.',
});

export const csiDriverSchema = z.object({
  name: z.string(),
  attachRequired: z.boolean(),
  podInfoOnMount: z.boolean(),
  requiresRepublish: z.boolean(),
  seLinuxMount: z.boolean(),
  /** `ReadWriteOnceWithFSType`, `File` or `None`. */
  fsGroupPolicy: z.string(),
  /** `Persistent`, `Ephemeral`. */
  lifecycleModes: z.array(z.string()),
  /** Audiences of the service account tokens that the driver receives. An empty audience stands for the API server’s own. */
  tokenRequests: z.array(z.object({ audience: z.string(), expirationSeconds: z.int().optional() })),
});
export type CsiDriver = z.infer<typeof csiDriverSchema>;

export const csiDriver = fact({
  area: 'object',
  name: 'csiDriver',
  key: 'name',
  owner: 'object-cache',
  payload: csiDriverSchema,
  about:
    'A CSIDriver of the cluster, keyed by its name. Read once a pod may need one; complete once all have been read.',
});

export const volumeAttachmentSchema = z.object({
  name: z.string(),
  driver: z.string(),
  volumeHandle: z.string(),
  attached: z.boolean(),
  /** What the driver's controller plugin passes to its node plugin. */
  metadata: z.record(z.string(), z.string()),
  /** Why it could not be attached. */
  error: z.string().optional(),
});
export type VolumeAttachment = z.infer<typeof volumeAttachmentSchema>;

export const volumeAttachment = fact({
  area: 'object',
  name: 'attachment',
  key: 'name',
  owner: 'object-cache',
  payload: volumeAttachmentSchema,
  about:
    'The VolumeAttachment of a volume that a pod of this node uses and that the Node object lists as attached, keyed by its name.',
});

/** The name of a driver's volume in a Node's `volumesInUse` and `volumesAttached` (`UniqueVolumeName` of the reference). */
export function uniqueCsiVolume({
  driver,
  volumeHandle,
}: Pick<CsiPersistentVolume, 'driver' | 'volumeHandle'>): string {
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}
