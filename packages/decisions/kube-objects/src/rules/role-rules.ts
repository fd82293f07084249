import { invalidField, requiredField } from '../field-problems.ts';
import { type Json, type JsonObject, asList, asObject, asText, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import type { Rules } from './rules.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Roles of a namespace, and of all. Source: pkg/apis/rbac/validation. */
export const roleRules: Rules = {
  ...plainRules,
  createOnUpdate: true,
  defaults: (role) => ({ rules: null, ...role }),
  validate: (role) =>
    asList(role['rules']).flatMap((rule, i) => ruleProblems(asObject(rule), role.kind === 'Role', `rules[${i}]`)),
};

function ruleProblems(rule: JsonObject, isNamespaced: boolean, at: string): FieldProblem[] {
  const { verbs, nonResourceURLs: urls, apiGroups, resources, resourceNames } = rule;
  const has = (value: Json | undefined) => asList(value).length > 0;
  const noVerbs = has(verbs) ? [] : [requiredField(`${at}.verbs`, 'verbs must contain at least one value')];
  if (has(urls)) {
    const bad = (why: string) => invalidField(`${at}.nonResourceURLs`, urls, why);
    return [
      ...noVerbs,
      ...(isNamespaced ? [bad('namespaced rules cannot apply to non-resource URLs')] : []),
      ...(has(apiGroups) || has(resources) || has(resourceNames)
        ? [bad('rules cannot apply to both regular resources and non-resource URLs')]
        : []),
    ];
  }
  return [
    ...noVerbs,
    ...(has(apiGroups) ? [] : [requiredField(`${at}.apiGroups`, 'resource rules must supply at least one api group')]),
    ...(has(resources) ? [] : [requiredField(`${at}.resources`, 'resource rules must supply at least one resource')]),
  ];
}

/** Bindings of roles, of a namespace and of all. Source: pkg/apis/rbac/validation, and the defaults of rbac/v1. */
export const roleBindingRules: Rules = {
  ...plainRules,
  createOnUpdate: true,
  defaults: (binding) => ({
    ...binding,
    roleRef: { ...asObject(binding['roleRef']), apiGroup: at(binding, 'roleRef', 'apiGroup') ?? GROUP },
    ...(binding['subjects'] !== undefined && { subjects: asList(binding['subjects']).map(subject) }),
  }),
  validate: (binding, previous) => [
    ...refProblems(binding),
    ...asList(binding['subjects']).flatMap((one, i) =>
      subjectProblems(asObject(one), binding.kind === 'RoleBinding', `subjects[${i}]`),
    ),
    ...(previous !== undefined && !sameJson(binding['roleRef'], previous['roleRef'])
      ? [invalidField('roleRef', binding['roleRef'], 'cannot change roleRef')]
      : []),
  ],
};

function subject(given: Json): Json {
  const { kind, apiGroup } = asObject(given);
  return kind === 'User' || kind === 'Group' ? { ...asObject(given), apiGroup: apiGroup ?? GROUP } : given;
}

function refProblems({ kind, roleRef }: KubeObject): FieldProblem[] {
  const { apiGroup, kind: of, name } = asObject(roleRef);
  const kinds = kind === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return [
    ...(apiGroup === GROUP ? [] : [unsupported('roleRef.apiGroup', apiGroup, [GROUP])]),
    ...(kinds.includes(asText(of)) ? [] : [unsupported('roleRef.kind', of, kinds)]),
    ...(asText(name) === '' ? [requiredField('roleRef.name')] : []),
  ];
}

function subjectProblems(given: JsonObject, isNamespaced: boolean, at: string): FieldProblem[] {
  const { kind, name, namespace, apiGroup } = given;
  const noName = asText(name) === '' ? [requiredField(`${at}.name`)] : [];
  const ofGroup = (group: string) =>
    asText(apiGroup) === group ? [] : [unsupported(`${at}.apiGroup`, apiGroup, [group])];
  switch (kind) {
    case 'ServiceAccount':
      return [
        ...noName,
        ...ofGroup(''),
        ...(!isNamespaced && asText(namespace) === '' ? [requiredField(`${at}.namespace`)] : []),
      ];
    case 'User':
    case 'Group':
      return [...noName, ...ofGroup(GROUP)];
    default:
      return [...noName, unsupported(`${at}.kind`, kind, ['Group', 'ServiceAccount', 'User'])];
  }
}

function unsupported(field: string, value: Json | undefined, supported: readonly string[]): FieldProblem {
  const values = supported.map((one) => `"${one}"`).join(', ');
  const message = `Unsupported value: "${asText(value)}": supported values: ${values}`;
  return { field, type: 'FieldValueNotSupported', message };
}
