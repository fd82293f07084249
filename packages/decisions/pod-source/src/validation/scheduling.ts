import type {
  LabelSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { checkLabels } from './metadata.ts';
import { dnsLabel, dnsSubdomain, inRange, labelValueText, qualifiedName } from './names.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Checks where the pod may run. A static pod is already on its node, but the same rules apply to its manifest. */
export function checkScheduling(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  checkLabels(spec.nodeSelector, path.child('nodeSelector'), errors);
  checkAffinity(spec.affinity, path.child('affinity'), errors);
  for (const [i, toleration] of (spec.tolerations ?? []).entries()) {
    checkToleration(toleration, path.child('tolerations').index(i), errors);
  }
  checkSpread(spec.topologySpreadConstraints ?? [], path.child('topologySpreadConstraints'), errors);
  const gates = new Set<string>();
  for (const [i, { name }] of (spec.schedulingGates ?? []).entries()) {
    const at = path.child('schedulingGates').index(i);
    errors.each(at, name, qualifiedName(name));
    if (gates.has(name)) errors.duplicate(at, name);
    gates.add(name);
  }
  if (gates.size > 0 && (spec.nodeName ?? '') !== '') {
    errors.forbidden(path.child('nodeName'), 'cannot be set until all schedulingGates have been cleared');
  }
}

export function checkLabelSelector(selector: LabelSelector | undefined, path: FieldPath, errors: FieldErrors): void {
  if (selector === undefined) return;
  checkLabels(selector.matchLabels, path.child('matchLabels'), errors);
  for (const [i, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = path.child('matchExpressions').index(i);
    if (operator === 'In' || operator === 'NotIn') {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      if (values.length === 0) errors.required(at.child('values'), detail);
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      if (values.length > 0) errors.forbidden(at.child('values'), detail);
    } else {
      errors.invalid(at.child('operator'), operator, 'not a valid selector operator');
    }
    errors.each(at.child('key'), key, qualifiedName(key));
    for (const [v, value] of values.entries()) errors.each(at.child('values').index(v), value, labelValueText(value));
  }
}

function checkAffinity(affinity: PodSpec['affinity'], path: FieldPath, errors: FieldErrors): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {};
  const required = nodeAffinity?.[REQUIRED];
  const at = path.child('nodeAffinity');
  if (required !== undefined) {
    const terms = at.child(REQUIRED, 'nodeSelectorTerms');
    if (required.nodeSelectorTerms.length === 0) errors.required(terms, 'must have at least one node selector term');
    for (const [i, term] of required.nodeSelectorTerms.entries()) checkNodeTerm(term, true, terms.index(i), errors);
  }
  for (const [i, { weight, preference }] of (nodeAffinity?.[PREFERRED] ?? []).entries()) {
    checkWeight(weight, at.child(PREFERRED).index(i), errors);
    checkNodeTerm(preference, false, at.child(PREFERRED).index(i).child('preference'), errors);
  }
  checkPodAffinity(podAffinity, path.child('podAffinity'), errors);
  checkPodAffinity(podAntiAffinity, path.child('podAntiAffinity'), errors);
}

function checkWeight(weight: number, path: FieldPath, errors: FieldErrors): void {
  if (inRange(weight, 1, 100).length > 0) errors.invalid(path.child('weight'), weight, 'must be in the range 1-100');
}

function checkNodeTerm(term: NodeSelectorTerm, checkValues: boolean, path: FieldPath, errors: FieldErrors): void {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries()) {
    checkNodeRequirement(requirement, checkValues, path.child('matchExpressions').index(i), errors);
  }
  for (const [i, { key, operator, values = [] }] of (term.matchFields ?? []).entries()) {
    const at = path.child('matchFields').index(i);
    if (operator !== 'In' && operator !== 'NotIn') {
      errors.invalid(at.child('operator'), operator, 'not a valid selector operator');
    } else if (values.length !== 1) {
      const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.required(at.child('values'), detail);
    }
    if (key !== 'metadata.name') errors.invalid(at.child('key'), key, 'not a valid field selector key');
    else for (const [v, name] of values.entries()) errors.each(at.child('values').index(v), name, dnsSubdomain(name));
  }
}

function checkNodeRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  checkValues: boolean,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const at = path.child('values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) errors.required(at, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) errors.forbidden(at, detail);
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) errors.required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    errors.invalid(path.child('operator'), operator, 'not a valid selector operator');
  }
  errors.each(path.child('key'), key, qualifiedName(key));
  if (!checkValues) return;
  for (const [i, value] of values.entries()) errors.each(at.index(i), value, labelValueText(value));
}

function checkPodAffinity(affinity: PodAffinity | undefined, path: FieldPath, errors: FieldErrors): void {
  for (const [i, term] of (affinity?.[REQUIRED] ?? []).entries()) {
    checkPodTerm(term, path.child(REQUIRED).index(i), errors);
  }
  for (const [i, { weight, podAffinityTerm }] of (affinity?.[PREFERRED] ?? []).entries()) {
    checkWeight(weight, path.child(PREFERRED).index(i), errors);
    checkPodTerm(podAffinityTerm, path.child(PREFERRED).index(i).child('podAffinityTerm'), errors);
  }
}

function checkPodTerm(term: PodAffinityTerm, path: FieldPath, errors: FieldErrors): void {
  checkLabelSelector(term.labelSelector, path.child('labelSelector'), errors);
  checkLabelSelector(term.namespaceSelector, path.child('namespaceSelector'), errors);
  for (const name of term.namespaces ?? []) errors.each(path.child('namespace'), name, dnsLabel(name));
  if (term.topologyKey === '') errors.required(path.child('topologyKey'), 'can not be empty');
  else errors.each(path.child('topologyKey'), term.topologyKey, qualifiedName(term.topologyKey));
  const mismatch = term.mismatchLabelKeys ?? [];
  for (const [i, key] of (term.matchLabelKeys ?? []).entries()) {
    const at = path.child('matchLabelKeys').index(i);
    errors.each(at, key, qualifiedName(key));
    if (mismatch.includes(key)) errors.invalid(at, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  }
  for (const [i, key] of mismatch.entries()) {
    errors.each(path.child('mismatchLabelKeys').index(i), key, qualifiedName(key));
  }
}

function checkToleration(toleration: Toleration, path: FieldPath, errors: FieldErrors): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') errors.each(path.child('key'), key, qualifiedName(key));
  else if (operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.invalid(path.child('operator'), operator, detail);
  }
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === 'Equal' || operator === '') {
    const wrong = labelValueText(value);
    if (wrong.length > 0) errors.invalid(path.child('operator'), value, wrong.join(';'));
  } else if (operator === 'Exists') {
    const detail = "value must be empty when `operator` is 'Exists'";
    if (value !== '') errors.invalid(path.child('operator'), value, detail);
  } else {
    errors.unsupported(path.child('operator'), operator, ['Equal', 'Exists']);
  }
  if (effect !== '' && !taintEffects.includes(effect)) errors.unsupported(path.child('effect'), effect, taintEffects);
}

function checkSpread(constraints: readonly TopologySpreadConstraint[], path: FieldPath, errors: FieldErrors): void {
  const pairs = new Set<string>();
  for (const [i, constraint] of constraints.entries()) {
    const at = path.index(i);
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains } = constraint;
    if (maxSkew <= 0) errors.invalid(at.child('maxSkew'), maxSkew, 'must be greater than zero');
    if (topologyKey === '') errors.required(at.child('topologyKey'), 'can not be empty');
    if (whenUnsatisfiable !== 'DoNotSchedule' && whenUnsatisfiable !== 'ScheduleAnyway') {
      errors.unsupported(at.child('whenUnsatisfiable'), whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    }
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (pairs.has(pair)) errors.duplicate(at.child('{topologyKey, whenUnsatisfiable}'), pair);
    pairs.add(pair);
    if (minDomains !== undefined && minDomains <= 0) {
      errors.invalid(at.child('minDomains'), minDomains, 'must be greater than zero');
    }
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      errors.invalid(at.child('minDomains'), minDomains, detail);
    }
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[field];
      if (policy === undefined || policy === 'Honor' || policy === 'Ignore') continue;
      errors.unsupported(at.child(field), policy, ['Honor', 'Ignore']);
    }
    checkMatchKeys(constraint, at, errors);
    checkLabelSelector(constraint.labelSelector, at.child('labelSelector'), errors);
  }
}

function checkMatchKeys(constraint: TopologySpreadConstraint, path: FieldPath, errors: FieldErrors): void {
  const { matchLabelKeys = [], labelSelector } = constraint;
  if (matchLabelKeys.length > 0 && labelSelector === undefined) {
    errors.forbidden(path.child('matchLabelKeys'), 'must not be specified when labelSelector is not set');
  }
  const selected = [
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map((expression) => expression.key),
  ];
  for (const [i, key] of matchLabelKeys.entries()) {
    const at = path.child('matchLabelKeys').index(i);
    errors.each(at, key, qualifiedName(key));
    if (selected.includes(key)) errors.invalid(at, key, 'exists in both matchLabelKeys and labelSelector');
  }
}
