import { deviceResources } from './device-resources.ts';
import { endpointSliceRules, priorityClassRules, storageClassRules } from './rules/class-rules.ts';
import { csrRules } from './rules/csr-rules.ts';
import { nodeRules } from './rules/node-rules.ts';
import { podRules } from './rules/pod-rules.ts';
import { EVENTS_V1_FIELDS, EVENT_FIELDS, coreEvent, eventRules, eventsV1, eventsV1Rules } from './rules/event-rules.ts';
import { leaseRules, namespaceRules, plainRules, secretRules, serviceRules } from './rules/plain-rules.ts';
import { roleResources } from './role-resources.ts';
import type { Rules } from './rules/rules.ts';
import { attachmentRules, claimRules, csiNodeRules, driverRules, volumeRules } from './rules/storage-rules.ts';
import type { JsonObject } from './json.ts';
import type { KubeObject } from './object.ts';
import type { ErrorSubject } from './status.ts';

/** Objects of one kind that are also served as another. */
interface View {
  /** Under which they are stored. */
  readonly of: Pick<Resource, 'group' | 'plural'>;
  readonly shown: (stored: KubeObject) => KubeObject;
  readonly stored: (shown: KubeObject) => KubeObject;
}

/** A kind of objects, as discovery lists it. */
export interface Resource extends ErrorSubject {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  /** Words of kubectl for several kinds at once. */
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** Its objects are deleted one by one: there is no `deletecollection`. */
  readonly deletedSingly?: boolean;
  readonly subresources: readonly string[];
  /** Fields besides name and namespace that lists and watches can be selected by. */
  readonly selectable?: readonly string[];
  /** The content of a bookmark besides its metadata: the fields that the API always writes. */
  readonly always?: JsonObject;
  /** A name may have parts before it: `example.com:signer:name`, `system:name`. */
  readonly signerPrefix?: boolean;
  /** Left out: its objects are its own. */
  readonly view?: View;
  readonly rules: Rules;
}

const core = { group: '', version: 'v1' };
const storage = { group: 'storage.k8s.io', version: 'v1', namespaced: false };

export const resources: readonly Resource[] = [
  {
    ...core,
    plural: 'pods',
    singular: 'pod',
    kind: 'Pod',
    shortNames: ['po'],
    categories: ['all'],
    namespaced: true,
    subresources: [
      'status',
      'ephemeralcontainers',
      'resize',
      'eviction',
      'log',
      'binding',
      'exec',
      'attach',
      'portforward',
    ],
    selectable: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
    always: { spec: { containers: null }, status: {} },
    rules: podRules,
  },
  {
    ...core,
    plural: 'nodes',
    singular: 'node',
    kind: 'Node',
    shortNames: ['no'],
    namespaced: false,
    subresources: ['proxy', 'status'],
    selectable: ['spec.unschedulable'],
    always: { spec: {}, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: {} } },
    rules: nodeRules,
  },
  {
    ...core,
    plural: 'namespaces',
    singular: 'namespace',
    kind: 'Namespace',
    shortNames: ['ns'],
    namespaced: false,
    deletedSingly: true,
    subresources: ['status'],
    selectable: ['status.phase'],
    always: { spec: {}, status: {} },
    rules: namespaceRules,
  },
  {
    ...core,
    plural: 'events',
    singular: 'event',
    kind: 'Event',
    shortNames: ['ev'],
    namespaced: true,
    subresources: [],
    selectable: [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
    always: EVENT_FIELDS,
    rules: eventRules,
  },
  {
    ...core,
    plural: 'secrets',
    singular: 'secret',
    kind: 'Secret',
    namespaced: true,
    subresources: [],
    selectable: ['type'],
    rules: secretRules,
  },
  {
    ...core,
    plural: 'configmaps',
    singular: 'configmap',
    kind: 'ConfigMap',
    shortNames: ['cm'],
    namespaced: true,
    subresources: [],
    rules: plainRules,
  },
  {
    ...core,
    plural: 'services',
    singular: 'service',
    kind: 'Service',
    shortNames: ['svc'],
    categories: ['all'],
    namespaced: true,
    subresources: ['status'],
    selectable: ['spec.clusterIP', 'spec.type'],
    always: { spec: {}, status: { loadBalancer: {} } },
    rules: serviceRules,
  },
  {
    ...core,
    plural: 'serviceaccounts',
    singular: 'serviceaccount',
    kind: 'ServiceAccount',
    shortNames: ['sa'],
    namespaced: true,
    subresources: ['token'],
    rules: { ...plainRules, returnsDeleted: true },
  },
  {
    ...core,
    plural: 'persistentvolumeclaims',
    singular: 'persistentvolumeclaim',
    kind: 'PersistentVolumeClaim',
    shortNames: ['pvc'],
    namespaced: true,
    subresources: ['status'],
    always: { spec: { resources: {} }, status: {} },
    rules: claimRules,
  },
  {
    ...core,
    plural: 'persistentvolumes',
    singular: 'persistentvolume',
    kind: 'PersistentVolume',
    shortNames: ['pv'],
    namespaced: false,
    subresources: ['status'],
    always: { spec: {}, status: {} },
    rules: volumeRules,
  },
  {
    ...storage,
    plural: 'csidrivers',
    singular: 'csidriver',
    kind: 'CSIDriver',
    subresources: [],
    always: { spec: {} },
    rules: driverRules,
  },
  {
    ...storage,
    plural: 'csinodes',
    singular: 'csinode',
    kind: 'CSINode',
    subresources: [],
    always: { spec: { drivers: null } },
    rules: csiNodeRules,
  },
  {
    ...storage,
    plural: 'volumeattachments',
    singular: 'volumeattachment',
    kind: 'VolumeAttachment',
    subresources: ['status'],
    always: { spec: { attacher: '', source: {}, nodeName: '' } },
    rules: attachmentRules,
  },
  {
    ...storage,
    plural: 'storageclasses',
    singular: 'storageclass',
    kind: 'StorageClass',
    shortNames: ['sc'],
    subresources: [],
    always: { provisioner: '' },
    rules: storageClassRules,
  },
  {
    group: 'scheduling.k8s.io',
    version: 'v1',
    plural: 'priorityclasses',
    singular: 'priorityclass',
    kind: 'PriorityClass',
    shortNames: ['pc'],
    namespaced: false,
    subresources: [],
    always: { value: 0 },
    rules: priorityClassRules,
  },
  {
    group: 'discovery.k8s.io',
    version: 'v1',
    plural: 'endpointslices',
    singular: 'endpointslice',
    kind: 'EndpointSlice',
    namespaced: true,
    subresources: [],
    always: { addressType: '', endpoints: null, ports: null },
    rules: endpointSliceRules,
  },
  ...deviceResources,
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    singular: 'lease',
    kind: 'Lease',
    namespaced: true,
    subresources: [],
    always: { spec: {} },
    rules: leaseRules,
  },
  {
    group: 'events.k8s.io',
    version: 'v1',
    plural: 'events',
    singular: 'event',
    kind: 'Event',
    shortNames: ['ev'],
    namespaced: true,
    subresources: [],
    selectable: [
      'regarding.kind',
      'regarding.namespace',
      'regarding.name',
      'regarding.uid',
      'regarding.apiVersion',
      'regarding.resourceVersion',
      'regarding.fieldPath',
      'reason',
      'reportingController',
      'type',
    ],
    always: EVENTS_V1_FIELDS,
    view: { of: { group: '', plural: 'events' }, shown: eventsV1, stored: coreEvent },
    rules: eventsV1Rules,
  },
  {
    group: 'node.k8s.io',
    version: 'v1',
    plural: 'runtimeclasses',
    singular: 'runtimeclass',
    kind: 'RuntimeClass',
    namespaced: false,
    subresources: [],
    always: { handler: '' },
    rules: { ...plainRules, unconditionalUpdate: false },
  },
  {
    group: 'certificates.k8s.io',
    version: 'v1',
    plural: 'certificatesigningrequests',
    singular: 'certificatesigningrequest',
    kind: 'CertificateSigningRequest',
    shortNames: ['csr'],
    namespaced: false,
    subresources: ['status', 'approval'],
    selectable: ['spec.signerName'],
    always: { spec: { request: null, signerName: '' }, status: {} },
    rules: csrRules,
  },
  {
    group: 'certificates.k8s.io',
    version: 'v1beta1',
    plural: 'clustertrustbundles',
    singular: 'clustertrustbundle',
    kind: 'ClusterTrustBundle',
    namespaced: false,
    subresources: [],
    selectable: ['spec.signerName'],
    always: { spec: { trustBundle: '' } },
    signerPrefix: true,
    rules: { ...plainRules, unconditionalUpdate: false },
  },
  ...roleResources,
];

/** `v1`, or `coordination.k8s.io/v1`. */
export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The key under which a resource is stored: `pods`, `leases.coordination.k8s.io`. */
export function tableOf({ group, plural, view }: Pick<Resource, 'group' | 'plural' | 'view'>): string {
  if (view !== undefined) return tableOf(view.of);
  return group === '' ? plural : `${plural}.${group}`;
}

/** A stored object as one of this kind. */
export function shownAs({ view }: Pick<Resource, 'view'>, stored: KubeObject): KubeObject {
  return view?.shown(stored) ?? stored;
}

/** An object of this kind as it is stored. */
export function storedFrom({ view }: Pick<Resource, 'view'>, shown: KubeObject): KubeObject {
  return view?.stored(shown) ?? shown;
}

/** Within its table. */
export function keyOf({ namespaced }: Resource, namespace: string, name: string): string {
  return namespaced ? `${namespace}/${name}` : name;
}

/** The first of them, where several groups have the kind. */
export function resourceOfKind(kind: string): Resource | undefined {
  return resources.find((resource) => resource.kind === kind);
}
