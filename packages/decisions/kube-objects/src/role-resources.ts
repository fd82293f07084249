import { roleBindingRules, roleRules } from './rules/role-rules.ts';
import type { Resource } from './resources.ts';

const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', subresources: [], signerPrefix: true };
const role = { ...roles, always: { rules: null }, rules: roleRules };
const binding = {
  ...roles,
  always: { roleRef: { apiGroup: '', kind: '', name: '' } },
  rules: roleBindingRules,
};

/** Roles and bindings: who may do what. */
export const roleResources: readonly Resource[] = [
  { ...role, plural: 'roles', singular: 'role', kind: 'Role', namespaced: true },
  { ...role, plural: 'clusterroles', singular: 'clusterrole', kind: 'ClusterRole', namespaced: false },
  { ...binding, plural: 'rolebindings', singular: 'rolebinding', kind: 'RoleBinding', namespaced: true },
  {
    ...binding,
    plural: 'clusterrolebindings',
    singular: 'clusterrolebinding',
    kind: 'ClusterRoleBinding',
    namespaced: false,
  },
];
