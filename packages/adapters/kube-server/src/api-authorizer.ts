import { isAllowed, isGranted, type KubeObject } from '@kubus/kube-objects';
import type { Authorizer } from './authorization.ts';
import { nodeAuthorizer } from './node-authorizer.ts';
import type { Store } from './store.ts';

const TABLES = {
  Role: 'roles.rbac.authorization.k8s.io',
  ClusterRole: 'clusterroles.rbac.authorization.k8s.io',
  RoleBinding: 'rolebindings.rbac.authorization.k8s.io',
  ClusterRoleBinding: 'clusterrolebindings.rbac.authorization.k8s.io',
};

/** The roles and bindings that are stored, by kind. */
export function rolesIn(store: Store): (kind: keyof typeof TABLES) => KubeObject[] {
  return (kind) => store.list(TABLES[kind]);
}

/** Who may do what with the API of a node: nodes what concerns them; others what {@link isAllowed} says, and what roles grant. */
export function apiAuthorizer(store: Store): Authorizer {
  const ofNode = nodeAuthorizer(store);
  const roles = rolesIn(store);
  return (attributes) => ofNode(attributes) ?? (isAllowed(attributes) || isGranted(attributes, roles) ? undefined : '');
}
