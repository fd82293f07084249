import { CONFIG_MIRROR } from '@kubus/contracts';
import { type Json, type KubeObject, LEASE_NAMESPACE, asList, asObject, asText, at, nodeOf } from '@kubus/kube-objects';
import type { AccessAttributes, Authorizer } from './authorization.ts';
import type { Store } from './store.ts';

const MANY = ['list', 'watch', 'deletecollection'];
const ONLY_OWN = 'resourceslices with nodeName field selector';
const SECRETS = ['nodeStageSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'];

/**
 * Denies requests of nodes for objects that do not concern them, and all requests of one without a name: undefined allows. Other users
 * and other kinds are allowed. Source: plugin/pkg/auth/authorizer/node of Kubernetes 1.36.
 */
export function nodeAuthorizer(store: Store): Authorizer {
  return (attributes) => {
    const node = nodeOf(attributes.user);
    if (node === undefined) return undefined;
    if (node === '') return `unknown node for user "${attributes.user.username}"`;
    const { verb, subresource, resource, name } = attributes;
    const related = (is: boolean) => (is ? undefined : `no relationship found between node '${node}' and this object`);
    const reach = new Reach(store, node);
    const got = (is: () => boolean) => {
      if (verb !== 'get') return 'can only get individual resources of this type';
      return subresource === '' ? related(is()) : 'cannot get subresource';
    };
    switch (resource) {
      case 'secrets':
      case 'configmaps':
        return read(attributes) ?? related(reach.object(attributes));
      case 'persistentvolumeclaims':
        if (subresource !== 'status') return got(() => reach.claim(attributes.namespace, name));
        if (verb !== 'update' && verb !== 'patch') return 'can only get/update/patch this type';
        return related(reach.claim(attributes.namespace, name));
      case 'persistentvolumes':
        return got(() => reach.volume(name));
      case 'volumeattachments':
        return got(() => asText(at(store.get('volumeattachments.storage.k8s.io', name), 'spec', 'nodeName')) === node);
      case 'resourceclaims':
        return got(() => reach.resourceClaim(attributes.namespace, name));
      case 'nodes':
        return ofNode(attributes, node);
      case 'pods':
        return ofPod(attributes, node, () => {
          const pod = store.get('pods', `${attributes.namespace}/${name}`);
          return related(asText(at(pod, 'spec', 'nodeName')) === node);
        });
      case 'serviceaccounts':
        if (verb === 'get' && subresource === '') return read(attributes) ?? related(reach.account(attributes));
        if (verb !== 'create' || name === '') return 'can only create tokens for individual service accounts';
        if (subresource !== 'token') return 'can only create token subresource of serviceaccount';
        return related(reach.account(attributes));
      case 'leases':
        return lease(attributes, node);
      case 'csinodes':
        return csiNode(attributes, node);
      case 'resourceslices': {
        if (subresource !== '') return 'cannot authorize ResourceSlice subresources';
        if (verb === 'create') return undefined;
        if (MANY.includes(verb))
          return isOfNode(attributes, node) ? undefined : `can only ${MANY.join('/')} ${ONLY_OWN}`;
        return related(asText(at(store.get('resourceslices.resource.k8s.io', name), 'spec', 'nodeName')) === node);
      }
      default:
        return undefined;
    }
  };
}

function read({ verb, subresource, namespace, name }: AccessAttributes): string | undefined {
  if (!['get', 'list', 'watch'].includes(verb)) return 'can only read resources of this type';
  if (subresource !== '') return 'cannot read subresource';
  if (namespace === '') return 'can only read namespaced object of this type';
  return name === '' ? 'No Object name found' : undefined;
}

const WRITES: Readonly<Record<string, readonly string[]>> = {
  '': ['create', 'delete'],
  status: ['update', 'patch'],
  eviction: ['create'],
};

/** Which of them a node writes, admission says. @param one whether it may read the pod that the request names. */
function ofPod(attributes: AccessAttributes, node: string, one: () => string | undefined): string | undefined {
  const { verb, subresource, name } = attributes;
  if (WRITES[subresource]?.includes(verb) === true) return undefined;
  if (subresource !== '') return '';
  if (verb === 'get') return name === '' ? 'No Object name found' : one();
  if (verb !== 'list' && verb !== 'watch') return '';
  if (isOfNode(attributes, node)) return undefined;
  return name === '' ? 'can only list/watch pods with spec.nodeName field selector' : one();
}

/** Which of them a node writes, admission says. */
function ofNode({ verb, subresource, name }: AccessAttributes, node: string): string | undefined {
  if (subresource === 'status' && ['update', 'patch'].includes(verb)) return undefined;
  if (subresource !== '') return '';
  if (['create', 'update', 'patch'].includes(verb)) return undefined;
  if (!['get', 'list', 'watch'].includes(verb)) return '';
  if (name === node) return undefined;
  const what = name === '' ? 'all nodes' : `'${name}'`;
  return `node '${node}' cannot read ${what}, only its own Node object`;
}

const ONE_OBJECT = ['get', 'create', 'update', 'patch', 'delete'];

/** Whose object is made, admission looks at. */
function lease({ verb, namespace, name }: AccessAttributes, node: string): string | undefined {
  if (!ONE_OBJECT.includes(verb)) return 'can only get, create, update, patch, or delete a node lease';
  if (namespace !== LEASE_NAMESPACE) return `can only access leases in the "${LEASE_NAMESPACE}" system namespace`;
  if (verb === 'create' || name === node) return undefined;
  return 'can only access node lease with the same name as the requesting node';
}

/** Whose object is made, admission looks at. */
function csiNode({ verb, subresource, name }: AccessAttributes, node: string): string | undefined {
  if (!ONE_OBJECT.includes(verb)) {
    return 'can only get, create, update, patch, or delete a CSINode';
  }
  if (subresource !== '') return 'cannot authorize CSINode subresources';
  return verb === 'create' || name === node
    ? undefined
    : 'can only access CSINode with the same name as the requesting node';
}

/** The request is for the objects of the node alone. */
function isOfNode({ fieldSelector = '' }: AccessAttributes, node: string): boolean {
  return fieldSelector.split(',').some((one) => /^spec\.nodeName==?(.*)$/.exec(one)?.[1] === node);
}

/** The objects reachable from the pods of a node. */
class Reach {
  readonly #store: Store;
  readonly #node: string;

  constructor(store: Store, node: string) {
    this.#store = store;
    this.#node = node;
  }

  get #pods(): readonly KubeObject[] {
    return this.#store
      .list('pods')
      .filter(
        ({ spec, metadata }) =>
          spec?.['nodeName'] === this.#node && metadata.annotations?.[CONFIG_MIRROR] === undefined,
      );
  }

  account({ namespace, name }: AccessAttributes): boolean {
    return this.#pods.some(
      ({ metadata, spec }) => metadata.namespace === namespace && spec?.['serviceAccountName'] === name,
    );
  }

  claim(namespace: string, name: string): boolean {
    return this.#pods.some((pod) => pod.metadata.namespace === namespace && claimsOf(pod).includes(name));
  }

  resourceClaim(namespace: string, name: string): boolean {
    return this.#pods.some((pod) => pod.metadata.namespace === namespace && resourceClaimsOf(pod).includes(name));
  }

  volume(name: string): boolean {
    const claim = at(this.#store.get('persistentvolumes', name), 'spec', 'claimRef');
    return this.claim(asText(at(claim, 'namespace')), asText(at(claim, 'name')));
  }

  /** A Secret or ConfigMap that a pod names, or a Secret of a volume that a pod has. */
  object({ resource, namespace, name }: AccessAttributes): boolean {
    const ofPod = ({ metadata, spec }: KubeObject) =>
      metadata.namespace === namespace && references(spec ?? {}, resource).has(name);
    if (this.#pods.some(ofPod)) return true;
    return (
      resource === 'secrets' &&
      this.#store.list('persistentvolumes').some((volume) => {
        const secrets = SECRETS.map((field) => at(volume, 'spec', 'csi', field));
        const isNamed = secrets.some((one) => at(one, 'namespace') === namespace && at(one, 'name') === name);
        return isNamed && this.volume(volume.metadata.name);
      })
    );
  }
}

function claimsOf({ metadata, spec }: KubeObject): string[] {
  return asList(spec?.['volumes']).flatMap((volume) => {
    const { persistentVolumeClaim, ephemeral, name } = asObject(volume);
    if (persistentVolumeClaim !== undefined) return [asText(at(persistentVolumeClaim, 'claimName'))];
    return ephemeral === undefined ? [] : [`${metadata.name}-${asText(name)}`];
  });
}

function resourceClaimsOf({ spec, status }: KubeObject): string[] {
  return [
    ...asList(spec?.['resourceClaims']),
    ...asList(status?.['resourceClaimStatuses']),
    status?.['extendedResourceClaimStatus'],
  ].map((one) => asText(at(one, 'resourceClaimName')));
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  secrets: ['secret', 'secretRef', 'secretKeyRef', 'imagePullSecrets', 'nodePublishSecretRef'],
  configmaps: ['configMap', 'configMapRef', 'configMapKeyRef'],
};

/** The names of the objects of one kind that a pod's spec refers to, wherever it does. */
function references(value: Json, resource: string, field = '', found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(value)) for (const item of value as Json[]) references(item, resource, field, found);
  else {
    const inner = asObject(value);
    if (FIELDS[resource]?.includes(field) === true) found.add(asText(inner['name'] ?? inner['secretName']));
    for (const [name, part] of Object.entries(inner)) {
      if (typeof part === 'object' && part !== null) references(part, resource, name, found);
    }
  }
  return found;
}
