import type { JsonObject } from './json.ts';

/** Whose request it is. */
export interface Asker {
  readonly username: string;
  readonly groups: readonly string[];
}

/** What a request asks of objects of a kind. Empty where it does not apply. */
interface KindRequest {
  readonly user: Asker;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

/** The same of one object, or of those in a namespace. */
export interface AccessRequest extends KindRequest {
  readonly namespace: string;
  readonly name: string;
  /** Of a request for several objects, where it has one. */
  readonly fieldSelector?: string;
}

/** Verbs of resources: `pods`, `pods/status`, `leases.coordination.k8s.io`. */
type Rules = Readonly<Record<string, readonly string[]>>;

const READ = ['get', 'list', 'watch'];

/** Source: NodeRules of plugin/pkg/auth/authorizer/rbac/bootstrappolicy. Which objects, the node authorizer says. */
const NODE_RULES: Rules = {
  'tokenreviews.authentication.k8s.io': ['create'],
  'subjectaccessreviews.authorization.k8s.io': ['create'],
  'localsubjectaccessreviews.authorization.k8s.io': ['create'],
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
  'selfsubjectrulesreviews.authorization.k8s.io': ['create'],
  'selfsubjectreviews.authentication.k8s.io': ['create'],
};

/** The node whose credential a user has: empty for one that names none, undefined for other users. Source: pkg/auth/nodeidentifier. */
export function nodeOf({ username, groups }: Asker): string | undefined {
  const [, name] = /^system:node:(.*)$/s.exec(username) ?? [];
  return groups.includes('system:nodes') ? name : undefined;
}

/**
 * Whether a user may do this to resources of this kind at all: administrators everything, nodes what a node agent does, and everyone, service
 * accounts included, may ask who they are and what they may do. What roles grant is apart.
 */
export function isAllowed({ user, verb, group, resource, subresource }: KindRequest): boolean {
  if (user.groups.includes('system:masters')) return true;
  const kind = `${resource}${group === '' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
  const has = (rules: Rules) => rules[kind]?.includes(verb) === true;
  if ((nodeOf(user) ?? '') !== '' && has(NODE_RULES)) return true;
  return user.groups.includes('system:authenticated') && has(EVERYONE);
}

/** Source: the role system:discovery. */
const DISCOVERY = [
  ...['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz'],
  ...['/version', '/version/'],
];

/** Whether a user may send such a request to a path that is not of objects: administrators any, everyone reads what the server has. */
export function isPathAllowed({ user, verb, path }: { user: Asker; verb: string; path: string }): boolean {
  if (user.groups.includes('system:masters')) return true;
  if (verb !== 'get' || !user.groups.includes('system:authenticated')) return false;
  return DISCOVERY.some((rule) => (rule.endsWith('*') ? path.startsWith(rule.slice(0, -1)) : path === rule));
}

/**
 * What a user may do, as `SelfSubjectRulesReview` has it: of nodes not all of it, which depends on their pods.
 *
 * @param granted rules of roles.
 */
export function rulesOf(user: Asker, granted: readonly JsonObject[]): JsonObject {
  const isAdministrator = user.groups.includes('system:masters');
  const isKnown = user.groups.includes('system:authenticated');
  const isNode = nodeOf(user) !== undefined;
  const everyone = Object.entries(EVERYONE).map(([kind, verbs]) => {
    const [resource = '', group = ''] = kind.split(/\.(.*)/);
    return { verbs, apiGroups: [group], resources: [resource] };
  });
  return {
    resourceRules: [
      ...(isAdministrator ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : []),
      ...(isKnown ? everyone : []),
      ...granted.filter(({ resources }) => resources !== undefined),
    ],
    nonResourceRules: [
      ...(isAdministrator ? [{ verbs: ['*'], nonResourceURLs: ['*'] }] : []),
      ...(isKnown ? [{ verbs: ['get'], nonResourceURLs: DISCOVERY }] : []),
    ],
    incomplete: isNode,
    ...(isNode && { evaluationError: 'node authorizer does not support user rule resolution' }),
  };
}
