import type { JsonObject } from '@kubus/kube-objects';

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];

const rule = (verbs: readonly string[], apiGroups: readonly string[], ...resources: readonly string[]): JsonObject => ({
  ...{ verbs, apiGroups, resources },
});

const VIEW = [
  rule(READ, [''], 'pods', 'pods/log', 'pods/status', 'services', 'services/status', 'serviceaccounts', 'configmaps'),
  rule(READ, [''], 'persistentvolumeclaims', 'persistentvolumeclaims/status', 'namespaces', 'namespaces/status'),
  rule(READ, ['', 'events.k8s.io'], 'events'),
  rule(READ, ['discovery.k8s.io'], 'endpointslices'),
  rule(READ, ['metrics.k8s.io'], 'pods', 'nodes'),
  rule(READ, ['resource.k8s.io'], 'resourceclaims', 'resourceclaims/status', 'resourceclaimtemplates'),
];

const STREAMS = ['pods/attach', 'pods/exec', 'pods/portforward'];

const EDIT = [
  ...VIEW,
  rule(READ, [''], 'secrets', ...STREAMS),
  rule(['impersonate'], [''], 'serviceaccounts'),
  rule(WRITE, [''], 'pods', ...STREAMS),
  rule(['create'], [''], 'pods/eviction', 'serviceaccounts/token'),
  rule(WRITE, [''], 'configmaps', 'persistentvolumeclaims', 'secrets', 'serviceaccounts', 'services'),
  rule(WRITE, ['', 'events.k8s.io'], 'events'),
  rule([...READ, ...WRITE], ['coordination.k8s.io'], 'leases'),
  rule(WRITE, ['resource.k8s.io'], 'resourceclaims', 'resourceclaimtemplates'),
];

const ADMIN = [...EDIT, rule(READ, ['rbac.authorization.k8s.io'], 'roles', 'rolebindings')];

const EVERYTHING = [rule(['*'], ['*'], '*'), { verbs: ['*'], nonResourceURLs: ['*'] }];

/**
 * The roles for users that every cluster has, for the kinds that there are. Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy; `admin`
 * does not write roles here.
 */
export const defaultRoles = Object.entries({ 'cluster-admin': EVERYTHING, admin: ADMIN, edit: EDIT, view: VIEW }).map(
  ([name, rules]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
    rules,
  }),
);
