import * as z from 'zod';
import { objectFieldSelectorSchema, resourceFieldSelectorSchema } from './environment.ts';
import { apiObject, flag, int, quantity, resourceList, stringMap, text, texts } from './fields.ts';
import { labelSelectorSchema, localObjectReferenceSchema, templateMetaSchema } from './metadata.ts';
import { remoteVolumeSources } from './volume-remote.ts';

/** One key of a ConfigMap or Secret as a file. `mode` holds permission bits. */
export const keyToPathSchema = apiObject({ key: z.string(), path: z.string(), mode: int });
export type KeyToPath = z.infer<typeof keyToPathSchema>;

const items = z.array(keyToPathSchema).optional();

export const hostPathVolumeSourceSchema = apiObject({
  path: z.string(),
  /** What must exist before mounting, or is created: `DirectoryOrCreate`, `File`, ... Empty: no check. */
  type: text,
});
export type HostPathVolumeSource = z.infer<typeof hostPathVolumeSourceSchema>;

export const emptyDirVolumeSourceSchema = apiObject({
  /** Empty: the node's disk. `Memory`, `HugePages` or `HugePages-<size>`. */
  medium: text,
  sizeLimit: quantity.optional(),
});
export type EmptyDirVolumeSource = z.infer<typeof emptyDirVolumeSourceSchema>;

export const secretVolumeSourceSchema = apiObject({ secretName: text, items, defaultMode: int, optional: flag });
export type SecretVolumeSource = z.infer<typeof secretVolumeSourceSchema>;

export const configMapVolumeSourceSchema = apiObject({ name: text, items, defaultMode: int, optional: flag });
export type ConfigMapVolumeSource = z.infer<typeof configMapVolumeSourceSchema>;

/** Exactly one of fieldRef and resourceFieldRef is set. */
export const downwardApiVolumeFileSchema = apiObject({
  path: z.string(),
  fieldRef: objectFieldSelectorSchema.optional(),
  resourceFieldRef: resourceFieldSelectorSchema.optional(),
  mode: int,
});
export type DownwardApiVolumeFile = z.infer<typeof downwardApiVolumeFileSchema>;

const downwardApiItems = z.array(downwardApiVolumeFileSchema).optional();

export const downwardApiVolumeSourceSchema = apiObject({ items: downwardApiItems, defaultMode: int });
export type DownwardApiVolumeSource = z.infer<typeof downwardApiVolumeSourceSchema>;

/** Exactly one of its fields is set. */
export const volumeProjectionSchema = apiObject({
  secret: apiObject({ name: text, items, optional: flag }).optional(),
  downwardAPI: apiObject({ items: downwardApiItems }).optional(),
  configMap: apiObject({ name: text, items, optional: flag }).optional(),
  serviceAccountToken: apiObject({ audience: text, expirationSeconds: int, path: z.string() }).optional(),
  clusterTrustBundle: apiObject({
    name: text,
    signerName: text,
    labelSelector: labelSelectorSchema.optional(),
    optional: flag,
    path: z.string(),
  }).optional(),
  podCertificate: apiObject({
    signerName: z.string(),
    keyType: z.string(),
    maxExpirationSeconds: int,
    credentialBundlePath: text,
    keyPath: text,
    certificateChainPath: text,
    userAnnotations: stringMap,
  }).optional(),
});
export type VolumeProjection = z.infer<typeof volumeProjectionSchema>;

export const projectedVolumeSourceSchema = apiObject({
  sources: z.array(volumeProjectionSchema).optional(),
  defaultMode: int,
});
export type ProjectedVolumeSource = z.infer<typeof projectedVolumeSourceSchema>;

export const claimTemplateSchema = apiObject({
  metadata: templateMetaSchema.optional(),
  spec: apiObject({
    accessModes: texts,
    selector: labelSelectorSchema.optional(),
    resources: apiObject({ limits: resourceList, requests: resourceList }).optional(),
    volumeName: text,
    storageClassName: text,
    volumeMode: text,
    dataSource: apiObject({ apiGroup: text, kind: z.string(), name: z.string() }).optional(),
    dataSourceRef: apiObject({ apiGroup: text, kind: z.string(), name: z.string(), namespace: text }).optional(),
    volumeAttributesClassName: text,
  }),
});
export type ClaimTemplate = z.infer<typeof claimTemplateSchema>;

export const csiVolumeSourceSchema = apiObject({
  driver: z.string(),
  readOnly: flag,
  fsType: text,
  volumeAttributes: stringMap,
  nodePublishSecretRef: localObjectReferenceSchema.optional(),
});
export type CsiVolumeSource = z.infer<typeof csiVolumeSourceSchema>;

/** Every kind of volume that the API knows, by the name of its field. A volume has exactly one. */
const volumeSources = {
  hostPath: hostPathVolumeSourceSchema.optional(),
  emptyDir: emptyDirVolumeSourceSchema.optional(),
  secret: secretVolumeSourceSchema.optional(),
  configMap: configMapVolumeSourceSchema.optional(),
  downwardAPI: downwardApiVolumeSourceSchema.optional(),
  projected: projectedVolumeSourceSchema.optional(),
  persistentVolumeClaim: apiObject({ claimName: z.string(), readOnly: flag }).optional(),
  ephemeral: apiObject({ volumeClaimTemplate: claimTemplateSchema.optional() }).optional(),
  csi: csiVolumeSourceSchema.optional(),
  /** An OCI image or artifact, mounted by the container runtime. */
  image: apiObject({ reference: text, pullPolicy: text }).optional(),
  ...remoteVolumeSources,
};
export type VolumeSourceName = keyof typeof volumeSources;
export const volumeSourceNames = Object.keys(volumeSources) as VolumeSourceName[];

export const volumeSchema = apiObject({ name: z.string(), ...volumeSources });
export type Volume = z.infer<typeof volumeSchema>;
