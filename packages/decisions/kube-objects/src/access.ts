interface Asker {
  readonly username: string;
  readonly groups: readonly string[];
}

/** What a request asks for. Empty where it does not apply. */
interface AccessRequest {
  readonly user: Asker;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

/** Verbs of resources: `pods`, `pods/status`, `leases.coordination.k8s.io`. */
type Rules = Readonly<Record<string, readonly string[]>>;

const READ = ['get', 'list', 'watch'];

/** Source: NodeRules of plugin/pkg/auth/authorizer/rbac/bootstrappolicy. Which objects, the node authorizer says. */
const NODE_RULES: Rules = {
  'tokenreviews.authentication.k8s.io': ['create'],
  'subjectaccessreviews.authorization.k8s.io': ['create'],
  services: READ,
  nodes: [...READ, 'create', 'update', 'patch'],
  'nodes/status': ['update', 'patch'],
  events: ['create', 'update', 'patch'],
  'events.events.k8s.io': ['create', 'update', 'patch'],
  pods: [...READ, 'create', 'delete'],
  'pods/status': ['update', 'patch'],
  'pods/eviction': ['create'],
  secrets: READ,
  configmaps: READ,
  persistentvolumeclaims: ['get'],
  'persistentvolumeclaims/status': ['get', 'update', 'patch'],
  persistentvolumes: ['get'],
  'certificatesigningrequests.certificates.k8s.io': [...READ, 'create'],
  'clustertrustbundles.certificates.k8s.io': READ,
  'leases.coordination.k8s.io': ['get', 'create', 'update', 'patch', 'delete'],
  'volumeattachments.storage.k8s.io': ['get'],
  'csidrivers.storage.k8s.io': READ,
  'csinodes.storage.k8s.io': ['get', 'create', 'update', 'patch', 'delete'],
  'runtimeclasses.node.k8s.io': READ,
  'resourceclaims.resource.k8s.io': ['get'],
  'resourceslices.resource.k8s.io': [...READ, 'create', 'update', 'patch', 'delete', 'deletecollection'],
  serviceaccounts: ['get'],
  'serviceaccounts/token': ['create'],
};

/** Source: the role system:basic-user. */
const EVERYONE: Rules = {
  'selfsubjectaccessreviews.authorization.k8s.io': ['create'],
  'selfsubjectreviews.authentication.k8s.io': ['create'],
};

/** The node whose credential a user has: empty for one that names none, undefined for other users. Source: pkg/auth/nodeidentifier. */
export function nodeOf({ username, groups }: Asker): string | undefined {
  const [, name] = /^system:node:(.*)$/s.exec(username) ?? [];
  return groups.includes('system:nodes') ? name : undefined;
}

/**
 * Whether a user may do this to resources of this kind at all: administrators everything, nodes what a node agent does, and everyone, service
 * accounts included, may ask who they are and what they may do. There are no roles that can be changed.
 */
export function isAllowed({ user, verb, group, resource, subresource }: AccessRequest): boolean {
  if (user.groups.includes('system:masters')) return true;
  const kind = `${resource}${group === '' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
  const has = (rules: Rules) => rules[kind]?.includes(verb) === true;
  if ((nodeOf(user) ?? '') !== '' && has(NODE_RULES)) return true;
  return user.groups.includes('system:authenticated') && has(EVERYONE);
}
