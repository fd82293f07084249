import { CONFIG_MIRROR } from '@kubus/contracts';
import { type Json, type JsonObject, asList, asObject, asText, at, sameJson } from '../json.ts';
import { nodeOf } from '../access.ts';
import type { KubeObject } from '../object.ts';
import type { RuleContext } from '../rules/rules.ts';
import { type ErrorSubject, forbidden, notFound } from '../status.ts';
import { referencedResources } from './pod-references.ts';

/** A write to an object, before the rules of its kind have changed anything. */
export interface Write {
  readonly operation: 'create' | 'update' | 'delete';
  readonly resource: ErrorSubject;
  /** Empty: the object itself. */
  readonly subresource: string;
  /** Empty for kinds that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** The object of the request with its defaults; empty for a deletion. */
  readonly object: JsonObject;
  /** The stored object; undefined for a new one. */
  readonly previous: KubeObject | undefined;
}

type World = Pick<RuleContext, 'user' | 'find'>;

const PODS: ErrorSubject = { group: '', plural: 'pods', kind: 'Pod' };
/** The namespace of the nodes' leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';

/**
 * Refuses what a node may not write: anything but its own Node, the status of its pods, its mirror pods, and its own lease, CSINode and
 * resource slices; tokens but for its pods. Other users are not restricted. Source: plugin/pkg/admission/noderestriction.
 *
 * @throws StatusError 403; 404 for a pod that does not exist.
 */
export function restrictNode(write: Write, world: World): void {
  const node = nodeOf(world.user);
  if (node === undefined) return;
  const { resource, name } = write;
  const why = node === '' ? `could not determine node from user "${world.user.username}"` : refusal(write, node, world);
  if (why !== undefined) throw forbidden(resource, name, why);
}

function refusal(write: Write, node: string, { find }: World): string | undefined {
  const { resource, operation, object, previous, name } = write;
  switch (resource.plural) {
    case 'pods':
      return ofPod(write, node, find);
    case 'nodes':
      return name === node ? ofNode(write, node) : `node "${node}" is not allowed to modify node "${name}"`;
    case 'persistentvolumeclaims':
      return ofClaim(write, node);
    case 'serviceaccounts':
      return ofToken(write, node, find);
    case 'leases':
      if (write.namespace !== LEASE_NAMESPACE)
        return `can only access leases in the "${LEASE_NAMESPACE}" system namespace`;
      return name === node ? undefined : 'can only access node lease with the same name as the requesting node';
    case 'csinodes':
      return name === node ? undefined : 'can only access CSINode with the same name as the requesting node';
    case 'resourceslices': {
      const owner = at(operation === 'create' ? object : previous, 'spec', 'nodeName');
      if (operation === 'update' || owner === node) return undefined;
      return `can only ${operation} ResourceSlice with the same NodeName as the requesting node`;
    }
    default:
      return undefined;
  }
}

function ofPod(write: Write, node: string, find: World['find']): string | undefined {
  const { operation, subresource, object, previous, namespace, name } = write;
  switch (subresource) {
    case '':
      if (operation === 'create') return ofMirrorPod(object as KubeObject, node, find);
      if (operation === 'delete') {
        if (isOn(previous, node)) return undefined;
        return `node "${node}" can only delete pods with spec.nodeName set to itself`;
      }
      return `unexpected operation "${operation.toUpperCase()}", node "${node}" can only create and delete mirror pods`;
    case 'status':
      return previous === undefined ? undefined : ofPodStatus(object, previous, node);
    case 'eviction':
      if (isOn(existing(find, namespace, name), node)) return undefined;
      return `node ${node} can only evict pods with spec.nodeName set to itself`;
    default:
      return `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`;
  }
}

function existing(find: World['find'], namespace: string, name: string): KubeObject {
  const pod = find('Pod', name, namespace);
  if (pod === undefined) throw notFound(PODS, name);
  return pod;
}

const isOn = (pod: KubeObject | undefined, node: string) => at(pod, 'spec', 'nodeName') === node;

function ofMirrorPod(pod: KubeObject, node: string, find: World['find']): string | undefined {
  const { annotations, ownerReferences } = asObject(pod['metadata']);
  const only = `node "${node}" can only create`;
  if (asObject(annotations)[CONFIG_MIRROR] === undefined) {
    return `pod does not have "${CONFIG_MIRROR}" annotation, ${only} mirror pods`;
  }
  if (at(pod, 'spec', 'nodeName') !== node) return `${only} pods with spec.nodeName set to itself`;
  const [owner, ...others] = asList(ownerReferences).map(asObject);
  if (others.length > 0) return `${only} pods with a single owner reference set to itself`;
  if (owner?.['apiVersion'] !== 'v1' || owner['kind'] !== 'Node' || owner['name'] !== node) {
    return `${only} pods with an owner reference set to itself`;
  }
  if (owner['controller'] !== true) return `${only} pods with a controller owner reference set to itself`;
  if (owner['blockOwnerDeletion'] === true) {
    return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  }
  const uid = find('Node', node)?.metadata.uid;
  if (uid === undefined) throw notFound({ group: '', plural: 'nodes', kind: 'Node' }, node);
  if (owner['uid'] !== uid) return `node ${node} UID mismatch: expected ${asText(owner['uid'])} got ${uid}`;
  const [referenced] = referencedResources(pod);
  return referenced === undefined ? undefined : `node "${node}" can not create pods that reference ${referenced}`;
}

function ofPodStatus(pod: JsonObject, previous: KubeObject, node: string): string | undefined {
  const isSame = (...path: string[]) => sameJson(at(pod, ...path), at(previous, ...path));
  if (!isOn(previous, node)) {
    return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
  }
  if (!isSameMap(at(pod, 'metadata', 'labels'), previous.metadata.labels)) {
    return `node "${node}" cannot update labels through pod status`;
  }
  // The reference writes it so.
  if (!isSame('status', 'resourceClaimStatuses')) return `node "${node}" cannot update resource claim statues`;
  if (!isSame('status', 'extendedResourceClaimStatus')) {
    return `node "${node}" cannot update extended resource claim status`;
  }
  return undefined;
}

const isSameMap = (one: Json | undefined, other: Json | undefined) => sameJson(asObject(one), asObject(other));

function ofNode({ operation, object, previous }: Write, node: string): string | undefined {
  if (operation === 'delete') return undefined;
  const labels = asObject(at(object, 'metadata', 'labels'));
  const forbiddenLabels = changedKeys(labels, asObject(previous?.metadata.labels)).filter(isForbiddenLabel).join(', ');
  const source = at(object, 'spec', 'configSource') ?? undefined;
  const before = at(previous, 'spec', 'configSource');
  if (previous === undefined) {
    if (source !== undefined) return `node "${node}" is not allowed to create pods with a non-nil configSource`;
    if (forbiddenLabels === '') return undefined;
    return `node "${node}" is not allowed to set the following labels: ${forbiddenLabels}`;
  }
  if (source !== undefined && !sameJson(source, before)) {
    return `node "${node}" is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!isSameList(at(object, 'spec', 'taints'), at(previous, 'spec', 'taints'))) {
    return `node "${node}" is not allowed to modify taints`;
  }
  if (!isSameList(at(object, 'metadata', 'ownerReferences'), previous.metadata['ownerReferences'])) {
    return `node "${node}" is not allowed to modify ownerReferences`;
  }
  return forbiddenLabels === '' ? undefined : `is not allowed to modify labels: ${forbiddenLabels}`;
}

const isSameList = (one: Json | undefined, other: Json | undefined) => sameJson(asList(one), asList(other));

function changedKeys(one: JsonObject, other: JsonObject): string[] {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => one[key] !== other[key]).sort();
}

/** Source: staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go. */
const OWN_LABELS = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];
const OWN_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const FORBIDDEN_DOMAIN = 'node-restriction.kubernetes.io';

/** A label by which a node could draw pods to itself that it should not have. */
function isForbiddenLabel(key: string): boolean {
  const [domain = '', name] = key.split(/\/(.*)/, 2);
  const isIn = (parent: string) => name !== undefined && (domain === parent || domain.endsWith(`.${parent}`));
  if (isIn(FORBIDDEN_DOMAIN)) return true;
  return (isIn('kubernetes.io') || isIn('k8s.io')) && !OWN_LABELS.includes(key) && !OWN_DOMAINS.some(isIn);
}

/** What a node may change of a claim's status. */
const CLAIM_STATUS = ['capacity', 'conditions', 'allocatedResources', 'allocatedResourceStatuses'];

function ofClaim({ operation, subresource, object, previous }: Write, node: string): string | undefined {
  if (subresource !== 'status') return 'may only update PVC status';
  if (operation !== 'update') return `unexpected operation "${operation.toUpperCase()}"`;
  if (sameJson(unchangeable(object), unchangeable(previous ?? {}))) return undefined;
  return `node "${node}" is not allowed to update fields other than status.quantity and status.conditions`;
}

function unchangeable({ metadata, spec, status }: JsonObject): JsonObject {
  const without = (value: Json | undefined, fields: readonly string[]) =>
    Object.fromEntries(Object.entries(asObject(value)).filter(([field]) => !fields.includes(field)));
  return {
    metadata: without(metadata, ['resourceVersion', 'managedFields']),
    spec: asObject(spec),
    status: without(status, CLAIM_STATUS),
  };
}

function ofToken(write: Write, node: string, find: World['find']): string | undefined {
  const { operation, subresource, object, namespace } = write;
  if (operation !== 'create' || subresource !== 'token') return undefined;
  const { apiVersion, kind, name, uid } = asObject(at(object, 'spec', 'boundObjectRef'));
  if (apiVersion !== 'v1' || kind !== 'Pod' || asText(name) === '') return 'node requested token not bound to a pod';
  if (asText(uid) === '') return 'node requested token with a pod binding without a uid';
  const pod = existing(find, namespace, asText(name));
  if (uid !== pod.metadata.uid) {
    return `the UID in the bound object reference (${asText(uid)}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  return isOn(pod, node) ? undefined : 'node requested token bound to a pod scheduled on a different node';
}
