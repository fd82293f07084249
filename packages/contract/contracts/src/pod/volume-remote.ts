import * as z from 'zod';
import { apiObject, flag, int, stringMap, text, texts } from './fields.ts';
import { localObjectReferenceSchema } from './metadata.ts';

const fsType = text;
const readOnly = flag;
const secretRef = localObjectReferenceSchema.optional();

/** Volumes of storage systems outside the node. Most are now served by CSI drivers; these types are refused or migrated. */
export const remoteVolumeSources = {
  nfs: apiObject({ server: z.string(), path: z.string(), readOnly }).optional(),
  iscsi: apiObject({
    targetPortal: z.string(),
    iqn: z.string(),
    lun: z.int(),
    iscsiInterface: text,
    fsType,
    readOnly,
    portals: texts,
    chapAuthDiscovery: flag,
    chapAuthSession: flag,
    secretRef,
    initiatorName: text,
  }).optional(),
  fc: apiObject({ targetWWNs: texts, lun: int, fsType, readOnly, wwids: texts }).optional(),
  flexVolume: apiObject({ driver: z.string(), fsType, secretRef, readOnly, options: stringMap }).optional(),
  gitRepo: apiObject({ repository: z.string(), revision: text, directory: text }).optional(),
  awsElasticBlockStore: apiObject({ volumeID: z.string(), fsType, partition: int, readOnly }).optional(),
  gcePersistentDisk: apiObject({ pdName: z.string(), fsType, partition: int, readOnly }).optional(),
  azureDisk: apiObject({
    diskName: z.string(),
    diskURI: z.string(),
    cachingMode: text,
    fsType,
    readOnly,
    kind: text,
  }).optional(),
  azureFile: apiObject({ secretName: z.string(), shareName: z.string(), readOnly }).optional(),
  cephfs: apiObject({
    monitors: z.array(z.string()),
    path: text,
    user: text,
    secretFile: text,
    secretRef,
    readOnly,
  }).optional(),
  cinder: apiObject({ volumeID: z.string(), fsType, readOnly, secretRef }).optional(),
  flocker: apiObject({ datasetName: text, datasetUUID: text }).optional(),
  glusterfs: apiObject({ endpoints: z.string(), path: z.string(), readOnly }).optional(),
  photonPersistentDisk: apiObject({ pdID: z.string(), fsType }).optional(),
  portworxVolume: apiObject({ volumeID: z.string(), fsType, readOnly }).optional(),
  quobyte: apiObject({
    registry: z.string(),
    volume: z.string(),
    readOnly,
    user: text,
    group: text,
    tenant: text,
  }).optional(),
  rbd: apiObject({
    monitors: z.array(z.string()),
    image: z.string(),
    fsType,
    pool: text,
    user: text,
    keyring: text,
    secretRef,
    readOnly,
  }).optional(),
  scaleIO: apiObject({
    gateway: z.string(),
    system: z.string(),
    secretRef: localObjectReferenceSchema,
    sslEnabled: flag,
    protectionDomain: text,
    storagePool: text,
    storageMode: text,
    volumeName: text,
    fsType,
    readOnly,
  }).optional(),
  storageos: apiObject({ volumeName: text, volumeNamespace: text, fsType, readOnly, secretRef }).optional(),
  vsphereVolume: apiObject({
    volumePath: z.string(),
    fsType,
    storagePolicyName: text,
    storagePolicyID: text,
  }).optional(),
};
