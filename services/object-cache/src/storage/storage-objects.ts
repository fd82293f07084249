import type {
  CsiDriver,
  PersistentVolume,
  PersistentVolumeSource,
  PresentClaim,
  VolumeAttachment,
} from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import * as z from 'zod';

const PROTECTION = 'kubernetes.io/pvc-protection';
const GID = 'pv.beta.kubernetes.io/gid';

const texts = z.array(z.string()).default([]);
const text = z.string().optional();
const flag = z.boolean().optional();
const stringMap = z.record(z.string(), z.string()).default({});
const volumeMode = z.enum(['Filesystem', 'Block']).default('Filesystem');
const capacity = z.object({ storage: text }).default({});
const secret = z.object({ namespace: z.string().default(''), name: z.string().default('') }).optional();

const claimSchema = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().nullish(),
    finalizers: texts,
    ownerReferences: z.array(z.object({ uid: z.string(), controller: flag })).default([]),
  }),
  spec: z.object({
    volumeName: text,
    volumeMode,
    accessModes: texts,
    resources: z.object({ requests: capacity }).default({ requests: {} }),
  }),
  status: z
    .object({
      phase: z.string().default('Pending'),
      capacity,
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    })
    .prefault({}),
});

/** A claim without its volume. */
export type ReadClaim = Omit<PresentClaim, 'volume' | 'volumeProblem'>;

/** @throws KubusError when it is not a PersistentVolumeClaim */
export function readClaim(object: unknown): ReadClaim {
  const { metadata, spec, status } = parse(claimSchema, object, 'PersistentVolumeClaim');
  const { namespace, name, uid, deletionTimestamp, finalizers, ownerReferences } = metadata;
  const { volumeName, resources, ...modes } = spec;
  const isTrue = (wanted: string) => status.conditions.some((one) => one.type === wanted && one.status === 'True');
  return {
    ...{ state: 'present', namespace, name, uid, ...modes },
    deleting: typeof deletionTimestamp === 'string',
    protected: finalizers.includes(PROTECTION),
    controllerUid: ownerReferences.find(({ controller }) => controller === true)?.uid,
    phase: status.phase,
    volumeName: volumeName === '' ? undefined : volumeName,
    requested: resources.requests.storage,
    capacity: status.capacity.storage,
    resizePending: isTrue('FileSystemResizePending'),
  };
}

const sourceSchemas = {
  hostPath: z.object({ path: z.string(), type: z.string().nullish() }).optional(),
  local: z.object({ path: z.string(), fsType: text }).optional(),
  nfs: z.object({ server: z.string(), path: z.string(), readOnly: flag }).optional(),
  csi: z
    .object({
      ...{ driver: z.string(), volumeHandle: z.string(), fsType: text, readOnly: flag, volumeAttributes: stringMap },
      ...{ nodeStageSecretRef: secret, nodePublishSecretRef: secret, nodeExpandSecretRef: secret },
    })
    .optional(),
};

const volumeSchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), annotations: stringMap }),
  spec: z.looseObject({
    claimRef: z.object({ uid: z.string().default('') }).nullish(),
    accessModes: texts,
    volumeMode,
    mountOptions: texts,
    capacity,
    ...sourceSchemas,
  }),
});

/** Fields of a PersistentVolume's spec that are not a source. */
const NO_SOURCE: ReadonlySet<string> = new Set([
  ...['claimRef', 'accessModes', 'volumeMode', 'mountOptions', 'capacity', 'nodeAffinity'],
  ...['persistentVolumeReclaimPolicy', 'storageClassName', 'volumeAttributesClassName'],
]);

/** @throws KubusError when it is not a PersistentVolume */
export function readVolume(object: unknown): PersistentVolume {
  const { metadata, spec } = parse(volumeSchema, object, 'PersistentVolume');
  const { accessModes, mountOptions, claimRef } = spec;
  return {
    ...{ name: metadata.name, uid: metadata.uid, accessModes, mountOptions, volumeMode: spec.volumeMode },
    claimUid: claimRef?.uid,
    capacity: spec.capacity.storage,
    gid: metadata.annotations[GID],
    source: sourceOf(spec),
  };
}

function sourceOf(spec: z.infer<typeof volumeSchema>['spec']): PersistentVolumeSource {
  const { hostPath, local, nfs, csi } = spec;
  if (hostPath !== undefined) return { kind: 'hostPath', path: hostPath.path, type: hostPath.type ?? '' };
  if (local !== undefined) return { kind: 'local', ...local };
  if (nfs !== undefined) return { kind: 'nfs', ...nfs, readOnly: nfs.readOnly ?? false };
  if (csi !== undefined) {
    const { nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef, readOnly = false, ...rest } = csi;
    return {
      ...{ kind: 'csi', ...rest, readOnly, nodeStageSecret: nodeStageSecretRef },
      ...{ nodePublishSecret: nodePublishSecretRef, nodeExpandSecret: nodeExpandSecretRef },
    };
  }
  return { kind: 'other', name: Object.keys(spec).find((field) => !NO_SOURCE.has(field)) ?? 'unknown' };
}

const driverSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z
    .object({
      ...{ attachRequired: flag, podInfoOnMount: flag, requiresRepublish: flag, seLinuxMount: flag },
      fsGroupPolicy: text,
      volumeLifecycleModes: z.array(z.string()).default([]),
      tokenRequests: z
        .array(z.object({ audience: z.string().default(''), expirationSeconds: z.int().optional() }))
        .default([]),
    })
    .prefault({}),
});

/** With the API's defaults, which an older API server may not write. @throws KubusError when it is not a CSIDriver. */
export function readDriver(object: unknown): CsiDriver {
  const { metadata, spec } = parse(driverSchema, object, 'CSIDriver');
  const { volumeLifecycleModes: modes, tokenRequests } = spec;
  return {
    name: metadata.name,
    attachRequired: spec.attachRequired ?? true,
    podInfoOnMount: spec.podInfoOnMount ?? false,
    requiresRepublish: spec.requiresRepublish ?? false,
    seLinuxMount: spec.seLinuxMount ?? false,
    fsGroupPolicy: spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType',
    lifecycleModes: modes.length === 0 ? ['Persistent'] : modes,
    tokenRequests,
  };
}

const attachmentSchema = z.object({
  metadata: z.object({ deletionTimestamp: z.string().nullish() }),
  status: z
    .object({
      attached: z.boolean().default(false),
      attachmentMetadata: stringMap,
      attachError: z.object({ message: z.string().default('') }).nullish(),
    })
    .prefault({}),
});

/** The state of an attachment. @throws KubusError when it is not a VolumeAttachment. */
export function readAttachment(object: unknown): Pick<VolumeAttachment, 'attached' | 'metadata' | 'error'> {
  const { metadata, status } = parse(attachmentSchema, object, 'VolumeAttachment');
  const { attached, attachmentMetadata, attachError } = status;
  // The reference's words (pkg/volume/csi, verifyAttachmentStatus).
  const leaving = typeof metadata.deletionTimestamp === 'string' ? 'volume attachment is being deleted' : undefined;
  const error = leaving ?? (attached ? undefined : attachError?.message);
  return { attached: attached && leaving === undefined, metadata: attachmentMetadata, ...(error && { error }) };
}

function parse<T>(schema: z.ZodType<T>, object: unknown, kind: string): T {
  const parsed = schema.safeParse(object);
  if (parsed.success) return parsed.data;
  throw new KubusError('bad-object', `the API server’s answer is not a ${kind}: ${z.prettifyError(parsed.error)}`);
}
