import type { Pod } from '@kubus/contracts';
import { formatAge } from '@kubus/pod';
import { podColumns } from '@kubus/pod-status';
import { type Json, type JsonObject, asList, asObject, asText, at } from '../json.ts';
import type { KubeObject } from '../object.ts';

/** A column of a kind. Cells are numbers where the reference has numbers. */
export interface Column {
  readonly name: string;
  readonly type?: 'integer' | 'boolean';
  /** Shown only by `-o wide`. */
  readonly isWide?: boolean;
  readonly format?: 'name' | 'quantity' | 'duration';
  readonly cell: (object: KubeObject, now: number) => Json;
}

const NONE = '<none>';
const column = (name: string, cell: Column['cell']): Column => ({ name, cell });
const text = (name: string, ...path: readonly string[]) => column(name, (object) => asText(at(object, ...path)));
const wide = (one: Column): Column => ({ ...one, isWide: true });
const typed = (type: 'integer' | 'boolean', one: Column): Column => ({ ...one, type });
const age = (now: number, time: Json | undefined) =>
  typeof time === 'string' ? formatAge(now - Date.parse(time)) : '<unknown>';

const NAME: Column = { name: 'Name', format: 'name', cell: ({ metadata }) => metadata.name };
const AGE = column('Age', ({ metadata }, now) => age(now, metadata.creationTimestamp));
const CREATED = column('Created At', ({ metadata }) => metadata.creationTimestamp);
const subjects = (kind: string) => (binding: KubeObject) =>
  asList(binding['subjects'])
    .filter((subject) => at(subject, 'kind') === kind)
    .map((subject) =>
      [at(subject, 'namespace'), at(subject, 'name')]
        .map(asText)
        .filter((part) => part !== '')
        .join('/'),
    )
    .join(', ');
const BINDING: readonly Column[] = [
  NAME,
  column('Role', ({ roleRef }) => `${asText(at(roleRef, 'kind'))}/${asText(at(roleRef, 'name'))}`),
  AGE,
  wide(column('Users', subjects('User'))),
  wide(column('Groups', subjects('Group'))),
  wide(column('ServiceAccounts', subjects('ServiceAccount'))),
];
const DATA = column('Data', ({ data, ...rest }) => size(data) + size(rest['binaryData']));

const size = (value: Json | undefined) => Object.keys(asObject(value)).length;
const joined = (value: Json | undefined) => asList(value).map(asText).join(',');
const phase = column('Status', ({ status, metadata }) =>
  metadata.deletionTimestamp === undefined ? asText(status?.['phase']) : 'Terminating',
);

/** Source for all of these: pkg/printers/internalversion/printers.go. */
export const columnsOf: Readonly<Record<string, readonly Column[]>> = {
  Pod: [
    NAME,
    column('Ready', (pod) => {
      const { ready, total } = pods(pod);
      return `${ready}/${total}`;
    }),
    column('Status', (pod) => pods(pod).status),
    column('Restarts', (pod, now) => {
      const { restarts, restartedAt } = pods(pod);
      return restartedAt === undefined ? String(restarts) : `${restarts} (${age(now, restartedAt)} ago)`;
    }),
    AGE,
    wide(column('IP', ({ status }) => asText(at(asList(status?.['podIPs'])[0], 'ip')) || NONE)),
    wide(column('Node', ({ spec }) => asText(spec?.['nodeName']) || NONE)),
    wide(column('Nominated Node', ({ status }) => asText(status?.['nominatedNodeName']) || NONE)),
    wide(column('Readiness Gates', readinessGates)),
  ],
  Node: [
    NAME,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    AGE,
    text('Version', 'status', 'nodeInfo', 'kubeletVersion'),
    wide(column('Internal-IP', nodeAddress('InternalIP'))),
    wide(column('External-IP', nodeAddress('ExternalIP'))),
    wide(column('OS-Image', nodeInfo('osImage'))),
    wide(
      column('Kernel-Version', (node) => {
        const architecture = asText(at(node, 'status', 'nodeInfo', 'architecture'));
        return nodeInfo('kernelVersion')(node) + (architecture === '' ? '' : ` (${architecture})`);
      }),
    ),
    wide(column('Container-Runtime', nodeInfo('containerRuntimeVersion'))),
  ],
  Namespace: [NAME, text('Status', 'status', 'phase'), AGE],
  Event: [
    column('Last Seen', (event, now) => age(now, lastSeen(event))),
    text('Type', 'type'),
    text('Reason', 'reason'),
    column('Object', ({ involvedObject }) => {
      const kind = asText(at(involvedObject, 'kind')).toLowerCase();
      const name = asText(at(involvedObject, 'name'));
      return name === '' ? kind : `${kind}/${name}`;
    }),
    wide(text('Subobject', 'involvedObject', 'fieldPath')),
    wide(column('Source', eventSource)),
    column('Message', ({ message }) => asText(message).trim()),
    wide(column('First Seen', (event, now) => age(now, firstSeen(event)))),
    wide(column('Count', ({ series, count }) => Number(at(series, 'count') ?? count ?? 1))),
    wide({ ...NAME, name: 'Name' }),
  ],
  Role: [NAME, CREATED],
  ClusterRole: [NAME, CREATED],
  RoleBinding: BINDING,
  ClusterRoleBinding: BINDING,
  ConfigMap: [NAME, DATA, AGE],
  Secret: [NAME, text('Type', 'type'), column('Data', ({ data }) => size(data)), AGE],
  ServiceAccount: [NAME, AGE],
  Service: [
    NAME,
    text('Type', 'spec', 'type'),
    column('Cluster-IP', ({ spec }) => asText(asList(spec?.['clusterIPs'])[0]) || NONE),
    column('External-IP', externalAddress),
    column('Port(s)', ({ spec }) => asList(spec?.['ports']).map(portText).join(',') || NONE),
    AGE,
    wide(column('Selector', ({ spec }) => labelsText(spec?.['selector']))),
  ],
  PersistentVolume: [
    NAME,
    text('Capacity', 'spec', 'capacity', 'storage'),
    column('Access Modes', ({ spec }) => accessModes(spec?.['accessModes'])),
    text('Reclaim Policy', 'spec', 'persistentVolumeReclaimPolicy'),
    phase,
    column('Claim', ({ spec }) => {
      const claim = spec?.['claimRef'];
      return claim === undefined ? '' : `${asText(at(claim, 'namespace'))}/${asText(at(claim, 'name'))}`;
    }),
    text('StorageClass', 'spec', 'storageClassName'),
    column('VolumeAttributesClass', ({ spec }) => asText(spec?.['volumeAttributesClassName']) || '<unset>'),
    text('Reason', 'status', 'reason'),
    AGE,
    wide(column('VolumeMode', ({ spec }) => asText(spec?.['volumeMode']) || '<unset>')),
  ],
  PersistentVolumeClaim: [
    NAME,
    phase,
    text('Volume', 'spec', 'volumeName'),
    column('Capacity', (claim) => (isBound(claim) ? asText(at(claim, 'status', 'capacity', 'storage')) : '')),
    column('Access Modes', (claim) => (isBound(claim) ? accessModes(claim.status?.['accessModes']) : '')),
    text('StorageClass', 'spec', 'storageClassName'),
    column('VolumeAttributesClass', ({ spec }) => asText(spec?.['volumeAttributesClassName']) || '<unset>'),
    AGE,
    wide(column('VolumeMode', ({ spec }) => asText(spec?.['volumeMode']) || '<unset>')),
  ],
  Lease: [NAME, text('Holder', 'spec', 'holderIdentity'), AGE],
  RuntimeClass: [NAME, text('Handler', 'handler'), AGE],
  CertificateSigningRequest: [
    NAME,
    AGE,
    column('SignerName', ({ spec }) => asText(spec?.['signerName']) || NONE),
    text('Requestor', 'spec', 'username'),
    column('RequestedDuration', ({ spec }) => {
      const seconds = spec?.['expirationSeconds'];
      return typeof seconds === 'number' ? formatAge(seconds * 1000) : NONE;
    }),
    column('Condition', requestStatus),
  ],
  ClusterTrustBundle: [NAME, text('SignerName', 'spec', 'signerName')],
  CSINode: [
    NAME,
    typed(
      'integer',
      column('Drivers', ({ spec }) => asList(spec?.['drivers']).length),
    ),
    AGE,
  ],
  CSIDriver: [
    NAME,
    ...(['attachRequired', 'podInfoOnMount', 'storageCapacity'] as const).map((field) =>
      typed(
        'boolean',
        column(
          field.replace(/^./, (letter) => letter.toUpperCase()),
          ({ spec }) => spec?.[field] === true,
        ),
      ),
    ),
    column('TokenRequests', ({ spec }) => {
      const requests = spec?.['tokenRequests'];
      return requests === undefined ? '<unset>' : joined(asList(requests).map((one) => asText(at(one, 'audience'))));
    }),
    typed(
      'boolean',
      column('RequiresRepublish', ({ spec }) => spec?.['requiresRepublish'] === true),
    ),
    column('Modes', ({ spec }) => joined(spec?.['volumeLifecycleModes']) || NONE),
    AGE,
  ],
  StorageClass: [
    { ...NAME, cell: ({ metadata }) => `${metadata.name}${isDefaultClass(metadata.annotations) ? ' (default)' : ''}` },
    text('Provisioner', 'provisioner'),
    text('ReclaimPolicy', 'reclaimPolicy'),
    text('VolumeBindingMode', 'volumeBindingMode'),
    column('AllowVolumeExpansion', (one) => one['allowVolumeExpansion'] === true),
    AGE,
  ],
  PriorityClass: [
    NAME,
    typed(
      'integer',
      column('Value', ({ value = 0 }) => value),
    ),
    typed(
      'boolean',
      column('Global-Default', (one) => one['globalDefault'] === true),
    ),
    AGE,
    text('PreemptionPolicy', 'preemptionPolicy'),
  ],
  EndpointSlice: [
    NAME,
    text('AddressType', 'addressType'),
    column('Ports', ({ ports: all }) => firstThree(asList(all).map(endpointPort))),
    column('Endpoints', ({ endpoints }) =>
      firstThree(asList(endpoints).flatMap((one) => asList(at(one, 'addresses')).map(asText))),
    ),
    AGE,
  ],
  ResourceClaim: [NAME, column('State', claimState), AGE],
  ResourceClaimTemplate: [NAME, AGE],
  DeviceClass: [NAME, AGE],
  ResourceSlice: [
    NAME,
    text('Node', 'spec', 'nodeName'),
    text('Driver', 'spec', 'driver'),
    text('Pool', 'spec', 'pool', 'name'),
    AGE,
  ],
  VolumeAttachment: [
    NAME,
    text('Attacher', 'spec', 'attacher'),
    text('PV', 'spec', 'source', 'persistentVolumeName'),
    text('Node', 'spec', 'nodeName'),
    typed(
      'boolean',
      column('Attached', ({ status }) => status?.['attached'] === true),
    ),
    AGE,
  ],
};

/** Of kinds without columns of their own. */
export const commonColumns: readonly Column[] = [
  NAME,
  column('Created At', ({ metadata }) => metadata.creationTimestamp),
];

function pods({ spec, status, metadata }: KubeObject) {
  return podColumns({
    spec: spec as unknown as Pod['spec'] | undefined,
    status: status,
    isDeleted: metadata.deletionTimestamp !== undefined,
  });
}

function readinessGates({ spec, status }: KubeObject): string {
  const gates = asList(spec?.['readinessGates']).map((gate) => at(gate, 'conditionType'));
  if (gates.length === 0) return NONE;
  const conditions = asList(status?.['conditions']);
  const met = gates.filter((gate) =>
    conditions.some((condition) => at(condition, 'type') === gate && at(condition, 'status') === 'True'),
  );
  return `${met.length}/${gates.length}`;
}

function nodeStatus({ spec, status }: KubeObject): string {
  const ready = asList(status?.['conditions']).find((condition) => at(condition, 'type') === 'Ready');
  const word = ready === undefined ? 'Unknown' : at(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return spec?.['unschedulable'] === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles({ metadata }: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [key.slice(prefix.length)] : key === 'kubernetes.io/role' ? [value] : [],
  );
  return [...new Set(roles.filter((role) => role !== ''))].sort().join(',') || NONE;
}

function nodeAddress(type: string): (node: KubeObject) => string {
  return ({ status }) => {
    const found = asList(status?.['addresses']).find((one) => at(one, 'type') === type);
    return asText(at(found, 'address')) || NONE;
  };
}

function nodeInfo(field: string): (node: KubeObject) => string {
  return (node) => asText(at(node, 'status', 'nodeInfo', field)) || '<unknown>';
}

function firstSeen({ firstTimestamp, eventTime }: KubeObject): Json | undefined {
  return firstTimestamp ?? eventTime;
}

function lastSeen(event: KubeObject): Json | undefined {
  return at(event['series'], 'lastObservedTime') ?? event['lastTimestamp'] ?? firstSeen(event);
}

function eventSource({ source, reportingComponent, reportingInstance }: KubeObject): string {
  const component = asText(at(source, 'component')) || asText(reportingComponent);
  const host = asText(at(source, 'host')) || asText(reportingInstance);
  return host === '' ? component : `${component}, ${host}`;
}

function externalAddress({ spec, status }: KubeObject): string {
  const type = asText(spec?.['type']);
  if (type === 'ExternalName') return asText(spec?.['externalName']);
  const balanced = asList(at(status, 'loadBalancer', 'ingress')).map(
    (one) => asText(at(one, 'ip')) || asText(at(one, 'hostname')),
  );
  const own = asList(spec?.['externalIPs']).map(asText);
  const all = [...(type === 'LoadBalancer' ? balanced : []), ...own].join(',');
  return all || (type === 'LoadBalancer' ? '<pending>' : NONE);
}

function portText(port: Json): string {
  const { port: own, nodePort = 0, protocol } = asObject(port);
  const ports = [own, nodePort].flatMap((one) => (typeof one === 'number' && one > 0 ? [String(one)] : []));
  return `${ports.join(':')}/${asText(protocol)}`;
}

function endpointPort(port: Json): string {
  const { port: number, name } = asObject(port);
  return typeof number === 'number' ? String(number) : typeof name === 'string' ? name : '*';
}

/** The first three, and how many more there are. */
function firstThree(texts: readonly string[]): string {
  const shown = texts.slice(0, 3).join(',');
  return texts.length > 3 ? `${shown} + ${texts.length - 3} more...` : shown || '<unset>';
}

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

const isDefaultClass = (annotations: KubeObject['metadata']['annotations'] = {}) =>
  DEFAULT_CLASS.some((annotation) => annotations[annotation] === 'true');

function labelsText(labels: Json | undefined): string {
  const pairs = Object.entries(asObject(labels)).map(([key, value]) => `${key}=${asText(value)}`);
  return pairs.sort().join(',') || NONE;
}

const MODES: JsonObject = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' };

function accessModes(modes: Json | undefined): string {
  const given = new Set(asList(modes).map(asText));
  return Object.entries(MODES)
    .filter(([mode]) => given.has(mode))
    .map(([, short]) => asText(short))
    .join(',');
}

function isBound({ spec }: KubeObject): boolean {
  return asText(spec?.['volumeName']) !== '';
}

function claimState({ metadata, status }: KubeObject): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const isAllocated = (status?.['allocation'] ?? null) !== null;
  const isReserved = isAllocated && asList(status?.['reservedFor']).length > 0;
  const words = {
    deleted: isDeleted,
    pending: !isDeleted && !isAllocated,
    allocated: isAllocated,
    reserved: isReserved,
  };
  return Object.entries(words)
    .filter(([, is]) => is)
    .map(([word]) => word)
    .join(',');
}

function requestStatus({ status }: KubeObject): string {
  const types = asList(status?.['conditions']).map((condition) => asText(at(condition, 'type')));
  const decided = types.filter((type) => ['Approved', 'Denied', 'Failed'].includes(type)).join(',');
  const issued = asText(status?.['certificate']) === '' ? '' : ',Issued';
  return `${decided || 'Pending'}${issued}`;
}
