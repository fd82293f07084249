import type { Json, JsonObject } from '@kubus/kube-objects';
import type { Schema } from './schema.ts';

const atomic: Schema = { type: 'atomic' };
const set: Schema = { type: 'set' };
/** A list of objects that are distinguished by these fields. */
const list = (keys: JsonObject, items?: Schema): Schema => ({ type: 'list', keys, items });
/** By a field that is a text, as most are. */
const by = (key: string, items?: Schema): Schema => list({ [key]: '' }, items);
const struct = (fields: Readonly<Record<string, Schema>>, always: JsonObject = {}): Schema => ({
  type: 'struct',
  fields,
  always,
});
const each = (names: string, schema: Schema): Readonly<Record<string, Schema>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, schema]));

/** The fields with the same value. */
const empty = (names: string, value: Json): JsonObject =>
  Object.fromEntries(names.split(' ').map((name) => [name, value]));

const nothingKnown = empty(
  'machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion operatingSystem architecture',
  '',
);

const metadata = struct({ finalizers: set, ownerReferences: by('uid', atomic) });
const conditions = by('type');
const podConditions = by('type', struct({}, { lastProbeTime: null, lastTransitionTime: null }));
const withSecret = (names = 'secretRef'): Schema => struct(each(names, atomic));
const resources = struct({ claims: by('name') });

/** What a kind has besides its metadata. */
const object = (fields: Readonly<Record<string, Schema>> = {}, always: JsonObject = {}): Schema =>
  struct({ metadata, ...fields }, { metadata: {}, ...always });

const claimSpec = struct({ dataSource: atomic, selector: atomic }, { resources: {} });

const container = struct(
  {
    env: by(
      'name',
      struct({ valueFrom: struct(each('configMapKeyRef fieldRef fileKeyRef resourceFieldRef secretKeyRef', atomic)) }),
    ),
    ports: list({ containerPort: 0, protocol: 'TCP' }),
    resources,
    volumeDevices: by('devicePath'),
    volumeMounts: by('mountPath'),
  },
  { resources: {} },
);

const volume = struct({
  ...each('cephfs cinder flexVolume iscsi rbd scaleIO storageos', withSecret()),
  csi: withSecret('nodePublishSecretRef'),
  ephemeral: struct({ volumeClaimTemplate: struct({ metadata, spec: claimSpec }, { metadata: {}, spec: {} }) }),
});

const pod = object(
  {
    spec: struct({
      affinity: struct({ nodeAffinity: struct(each('requiredDuringSchedulingIgnoredDuringExecution', atomic)) }),
      ...each('containers initContainers ephemeralContainers', by('name', container)),
      hostAliases: by('ip'),
      imagePullSecrets: by('name', atomic),
      nodeSelector: atomic,
      resourceClaims: by('name'),
      resources,
      schedulingGates: by('name'),
      topologySpreadConstraints: list({ topologyKey: '', whenUnsatisfiable: '' }, struct({ labelSelector: atomic })),
      volumes: by('name', volume),
    }),
    status: struct({ conditions: podConditions, podIPs: by('ip'), resourceClaimStatuses: by('name'), resources }),
  },
  { spec: { containers: null }, status: {} },
);

const persistentVolumeSpec = struct({
  ...each('cephfs cinder flexVolume iscsi rbd scaleIO', withSecret()),
  csi: withSecret(
    'controllerExpandSecretRef controllerPublishSecretRef nodeExpandSecretRef nodePublishSecretRef nodeStageSecretRef',
  ),
  nodeAffinity: struct({ required: atomic }),
  storageos: withSecret(),
});

const resourceClaim = object(
  {
    status: struct({
      allocation: struct({ nodeSelector: atomic }, { devices: {} }),
      devices: list({ driver: '', device: '', pool: '', shareID: undefined }, struct({ conditions, data: atomic })),
      reservedFor: by('uid'),
    }),
  },
  { spec: { devices: { requests: null } }, status: {} },
);

/**
 * What differs from the rules for all fields, by kind. Source: the x-kubernetes-list-type, -list-map-keys and -map-type of
 * Kubernetes 1.36's OpenAPI document, and what its types
 * write even if nothing is set.
 */
const kinds: Readonly<Record<string, Schema>> = {
  'v1 Pod': pod,
  'v1 ConfigMap': object(),
  'v1 Secret': object(),
  'v1 ServiceAccount': object({ secrets: list({ name: undefined }, atomic) }),
  'v1 Service': object(
    {
      spec: struct({ ports: list({ port: 0, protocol: 'TCP' }), selector: atomic }),
      status: struct({ conditions }),
    },
    { spec: {}, status: { loadBalancer: {} } },
  ),
  'v1 Namespace': object({ status: struct({ conditions }) }, { spec: {}, status: {} }),
  'v1 Node': object(
    {
      spec: struct({ podCIDRs: set }),
      status: struct({ conditions, addresses: by('type') }),
    },
    { spec: {}, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: nothingKnown } },
  ),
  'v1 Event': object(each('involvedObject related', atomic), {
    involvedObject: {},
    source: {},
    ...empty('firstTimestamp lastTimestamp eventTime', null),
    ...empty('reportingComponent reportingInstance', ''),
  }),
  'events.k8s.io/v1 Event': object(each('regarding related', atomic), {
    regarding: {},
    deprecatedSource: {},
    ...empty('eventTime deprecatedFirstTimestamp deprecatedLastTimestamp', null),
  }),
  'v1 PersistentVolume': object({ spec: persistentVolumeSpec }, { spec: {}, status: {} }),
  'v1 PersistentVolumeClaim': object({ spec: claimSpec, status: struct({ conditions }) }, { spec: {}, status: {} }),
  'rbac.authorization.k8s.io/v1 Role': object({ rules: atomic }, { rules: null }),
  'rbac.authorization.k8s.io/v1 ClusterRole': object(
    { rules: atomic, aggregationRule: struct({ clusterRoleSelectors: atomic }) },
    { rules: null },
  ),
  'rbac.authorization.k8s.io/v1 RoleBinding': object(each('subjects roleRef', atomic), {}),
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': object(each('subjects roleRef', atomic), {}),
  'coordination.k8s.io/v1 Lease': object({}, { spec: {} }),
  'storage.k8s.io/v1 StorageClass': object({}, { provisioner: '' }),
  'storage.k8s.io/v1 CSINode': object({ spec: struct({ drivers: by('name') }) }, { spec: { drivers: null } }),
  'storage.k8s.io/v1 CSIDriver': object({ spec: struct({ volumeLifecycleModes: set }) }, { spec: {} }),
  'storage.k8s.io/v1 VolumeAttachment': object(
    { spec: struct({ source: struct({ inlineVolumeSpec: persistentVolumeSpec }) }) },
    { spec: { attacher: '', source: {}, nodeName: '' }, status: { attached: false } },
  ),
  'scheduling.k8s.io/v1 PriorityClass': object({}, { value: 0 }),
  'node.k8s.io/v1 RuntimeClass': object({ scheduling: struct({ nodeSelector: atomic }) }, { handler: '' }),
  'discovery.k8s.io/v1 EndpointSlice': object({}, { addressType: '', endpoints: null, ports: null }),
  'resource.k8s.io/v1 ResourceClaim': resourceClaim,
  'resource.k8s.io/v1 ResourceClaimTemplate': object(
    { spec: struct({ metadata }) },
    { spec: { metadata: {}, spec: { devices: { requests: null } } } },
  ),
  'resource.k8s.io/v1 ResourceSlice': object(
    { spec: struct({ nodeSelector: atomic }) },
    { spec: { driver: '', pool: { name: '', generation: 0, resourceSliceCount: 0 } } },
  ),
  'resource.k8s.io/v1 DeviceClass': object({}, { spec: {} }),
  'certificates.k8s.io/v1 CertificateSigningRequest': object(
    { status: struct({ conditions }) },
    { spec: { request: null, signerName: '' }, status: {} },
  ),
};

/** How an object of the kind is owned; of a kind that is unknown here, by the rules for all fields. */
export function schemaOfKind(apiVersion: string, kind: string): Schema {
  return kinds[`${apiVersion} ${kind}`] ?? object();
}
