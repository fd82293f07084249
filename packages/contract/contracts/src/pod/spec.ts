import * as z from 'zod';
import { containerSchema, ephemeralContainerSchema } from './container.ts';
import { apiObject, flag, int, resourceList, stringMap, text, texts } from './fields.ts';
import { localObjectReferenceSchema } from './metadata.ts';
import { resourceRequirementsSchema } from './resources.ts';
import { affinitySchema, tolerationSchema, topologySpreadConstraintSchema } from './scheduling.ts';
import { podSecurityContextSchema } from './security.ts';
import { volumeSchema } from './volume.ts';

export const podDnsConfigSchema = apiObject({
  nameservers: texts,
  searches: texts,
  options: z.array(apiObject({ name: text, value: text })).optional(),
});
export type PodDnsConfig = z.infer<typeof podDnsConfigSchema>;

export const hostAliasSchema = apiObject({ ip: z.string(), hostnames: texts });
export type HostAlias = z.infer<typeof hostAliasSchema>;

/** Exactly one of the two names is set. */
export const podResourceClaimSchema = apiObject({
  name: z.string(),
  resourceClaimName: text,
  resourceClaimTemplateName: text,
});
export type PodResourceClaim = z.infer<typeof podResourceClaimSchema>;

/** The desired state of a pod. Values are strings where the API has an enumeration, so that newer values are preserved. */
export const podSpecSchema = apiObject({
  volumes: z.array(volumeSchema).optional(),
  initContainers: z.array(containerSchema).optional(),
  containers: z.array(containerSchema),
  ephemeralContainers: z.array(ephemeralContainerSchema).optional(),
  /** `Always`, `OnFailure` or `Never`. */
  restartPolicy: text,
  /** Seconds between SIGTERM and SIGKILL. */
  terminationGracePeriodSeconds: int,
  /** Seconds from the pod's start until it fails with DeadlineExceeded. */
  activeDeadlineSeconds: int,
  /** `ClusterFirst`, `ClusterFirstWithHostNet`, `Default` or `None`. */
  dnsPolicy: text,
  nodeSelector: stringMap,
  serviceAccountName: text,
  /** The old name of serviceAccountName. */
  serviceAccount: text,
  automountServiceAccountToken: flag,
  nodeName: text,
  hostNetwork: flag,
  hostPID: flag,
  hostIPC: flag,
  shareProcessNamespace: flag,
  securityContext: podSecurityContextSchema.optional(),
  imagePullSecrets: z.array(localObjectReferenceSchema).optional(),
  hostname: text,
  subdomain: text,
  affinity: affinitySchema.optional(),
  schedulerName: text,
  tolerations: z.array(tolerationSchema).optional(),
  hostAliases: z.array(hostAliasSchema).optional(),
  priorityClassName: text,
  priority: int,
  dnsConfig: podDnsConfigSchema.optional(),
  readinessGates: z.array(apiObject({ conditionType: z.string() })).optional(),
  runtimeClassName: text,
  enableServiceLinks: flag,
  preemptionPolicy: text,
  /** What the pod's sandbox needs in addition to its containers. */
  overhead: resourceList,
  topologySpreadConstraints: z.array(topologySpreadConstraintSchema).optional(),
  setHostnameAsFQDN: flag,
  os: apiObject({ name: z.string() }).optional(),
  /** False: the pod gets a user namespace. */
  hostUsers: flag,
  schedulingGates: z.array(apiObject({ name: z.string() })).optional(),
  resourceClaims: z.array(podResourceClaimSchema).optional(),
  /** Of the pod as a whole (KEP-2837). */
  resources: resourceRequirementsSchema.optional(),
  hostnameOverride: text,
  schedulingGroup: apiObject({ podGroupName: text }).optional(),
});
export type PodSpec = z.infer<typeof podSpecSchema>;
