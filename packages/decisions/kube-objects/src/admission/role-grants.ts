import type { AccessRequest, Asker } from '../access.ts';
import { type Json, type JsonObject, asList, asObject, asText, at } from '../json.ts';
import type { KubeObject } from '../object.ts';

/** Roles and bindings, by kind. */
type Roles = (kind: 'Role' | 'ClusterRole' | 'RoleBinding' | 'ClusterRoleBinding') => readonly KubeObject[];

/** Roles and bindings themselves. */
const GROUP = 'rbac.authorization.k8s.io';
const READ = ['get', 'list', 'watch'];

/**
 * The rules that are granted to a user in a namespace: by bindings of all namespaces, and by those of that one. Source:
 * pkg/registry/rbac/validation.
 *
 * @param namespace empty: none.
 */
export function grantedRules(user: Asker, namespace: string, roles: Roles): readonly JsonObject[] {
  const local = roles('RoleBinding').filter(({ metadata }) => namespace !== '' && metadata.namespace === namespace);
  return [...roles('ClusterRoleBinding'), ...local]
    .filter((binding) => asList(binding['subjects']).some((subject) => isSubject(subject, user, binding)))
    .flatMap((binding) => {
      const { kind, name } = asObject(binding['roleRef']);
      const within = kind === 'Role' ? binding.metadata.namespace : undefined;
      const role = roles(kind === 'Role' ? 'Role' : 'ClusterRole').find(
        ({ metadata }) => metadata.name === name && metadata.namespace === within,
      );
      return asList(role?.['rules']).map(asObject);
    });
}

function isSubject(subject: Json, { username, groups }: Asker, binding: KubeObject): boolean {
  const name = asText(at(subject, 'name'));
  const namespace = asText(at(subject, 'namespace') ?? binding.metadata.namespace);
  switch (at(subject, 'kind')) {
    case 'User':
      return username === name;
    case 'Group':
      return groups.includes(name);
    case 'ServiceAccount':
      return username === `system:serviceaccount:${namespace}:${name}`;
    default:
      return false;
  }
}

/**
 * Whether a role lets the user do it. No role lets anyone write roles and bindings, which would be a way to everything: the reference asks
 * whether the writer has what it grants.
 */
export function isGranted(request: AccessRequest, roles: Roles): boolean {
  const { user, namespace, group, verb } = request;
  if (group === GROUP && !READ.includes(verb)) return false;
  return grantedRules(user, namespace, roles).some((rule) => covers(rule, request));
}

function covers(rule: JsonObject, { verb, group, resource, subresource, name }: AccessRequest): boolean {
  const has = (field: string, ...values: readonly string[]) =>
    asList(rule[field]).some((one) => one === '*' || values.includes(asText(one)));
  const names = asList(rule['resourceNames']);
  const kinds = subresource === '' ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
  const isNamed = names.length === 0 || (name !== '' && names.includes(name));
  return has('verbs', verb) && has('apiGroups', group) && has('resources', ...kinds) && isNamed;
}
