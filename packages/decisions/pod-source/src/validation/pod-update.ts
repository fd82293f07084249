import {
  CONFIG_MIRROR,
  type Container,
  type NodeSelectorTerm,
  type Pod,
  type PodSpec,
  type Toleration,
} from '@kubus/contracts';
import { isDeepEqual, isMirror } from '@kubus/pod';
import { type FieldError, FieldErrors, FieldPath } from './field.ts';
import { inRange } from './names.ts';
import { checkPod } from './pod.ts';
import { APP_ARMOR_KEY } from './security.ts';

const MAX_INT32 = 2147483647;
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';

const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/**
 * Everything for which the API server would refuse the update of a pod, both with their defaults set: most of a pod is fixed
 * when it is made. Where the reference's message ends with a difference of its own types, this one names the fields.
 * Source: ValidatePodUpdate of k8s.io/kubernetes/pkg/apis/core/validation; rules for all objects' metadata are not among it.
 */
export function validatePodUpdate(next: Pod, previous: Pod): readonly FieldError[] {
  const errors = new FieldErrors();
  const path = FieldPath.root.child('spec');
  checkPod(next, FieldPath.root, errors);
  checkFixedAnnotations(next, previous, FieldPath.root.child('metadata', 'annotations'), errors);
  for (const list of ['containers', 'initContainers'] as const) {
    if ((next.spec[list] ?? []).length === (previous.spec[list] ?? []).length) continue;
    errors.forbidden(path.child(list), 'pod updates may not add or remove containers');
    return errors.list;
  }
  if (!checkDeadline(next.spec, previous.spec, path.child('activeDeadlineSeconds'), errors)) return errors.list;
  checkTolerations(next.spec.tolerations ?? [], previous.spec.tolerations ?? [], path.child('tolerations'), errors);
  checkGates(next.spec, previous.spec, path.child('schedulingGates'), errors);
  const gated = (previous.spec.schedulingGates ?? []).length > 0;
  if (gated) checkGatedPlacement(next.spec, previous.spec, path, errors);
  const fixed = fixedFields(next.spec, previous.spec, gated);
  const before = fixedFields(previous.spec, previous.spec, gated);
  const changed = [...new Set([...Object.keys(fixed), ...Object.keys(before)])].filter(
    (field) => !isDeepEqual(fixed[field], before[field]),
  );
  if (changed.length > 0) {
    const fields = changed.map((field) => `spec.${field}`).toSorted();
    errors.forbidden(path, `pod updates may not change fields other than ${changeable}\n${fields.join('\n')}`);
  }
  return errors.list;
}

/**
 * Everything for which the API server would refuse a write to a pod's ephemeral containers: they can be added, and neither
 * changed nor removed. Source: ValidatePodEphemeralContainersUpdate.
 */
export function validateEphemeralContainers(next: Pod, previous: Pod): readonly FieldError[] {
  const errors = new FieldErrors();
  if (isMirror(previous)) {
    errors.forbidden(FieldPath.root, 'static pods do not support ephemeral containers');
    return errors.list;
  }
  const path = FieldPath.root.child('spec', 'ephemeralContainers');
  checkPod(next, FieldPath.root, errors);
  checkFixedAnnotations(next, previous, FieldPath.root.child('metadata', 'annotations'), errors);
  const { ephemeralContainers = [] } = next.spec;
  for (const old of previous.spec.ephemeralContainers ?? []) {
    const same = ephemeralContainers.find(({ name }) => name === old.name);
    const what = `existing ephemeral containers ${JSON.stringify(old.name)} may not be`;
    if (same === undefined) errors.forbidden(path, `${what} removed\n`);
    else if (!isDeepEqual(same, old)) errors.forbidden(path, `${what} changed\n`);
  }
  return errors.list;
}

/** Annotations that say how the node runs the pod are as fixed as its fields. */
function checkFixedAnnotations(next: Pod, previous: Pod, path: FieldPath, errors: FieldErrors): void {
  const { annotations: after = {} } = next.metadata;
  const { annotations: before = {} } = previous.metadata;
  const kindOf = (key: string): string | undefined =>
    key.startsWith(APP_ARMOR_KEY)
      ? 'AppArmor annotations'
      : key === CONFIG_MIRROR
        ? 'mirror pod annotation'
        : undefined;
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const kind = kindOf(key);
    if (kind === undefined || before[key] === after[key]) continue;
    errors.forbidden(path.key(key), `may not ${before[key] === undefined ? 'add' : 'remove or update'} ${kind}`);
  }
}

/** @returns false if the rest is not checked. */
function checkDeadline(next: PodSpec, previous: PodSpec, path: FieldPath, errors: FieldErrors): boolean {
  const { activeDeadlineSeconds: after } = next;
  const { activeDeadlineSeconds: before } = previous;
  if (after === undefined) {
    if (before !== undefined) errors.invalid(path, null, 'must not update from a positive integer to nil value');
    return true;
  }
  const outside = inRange(after, 0, MAX_INT32);
  errors.each(path, after, outside);
  const longer = outside.length === 0 && before !== undefined && before < after;
  if (longer) errors.invalid(path, after, 'must be less than or equal to previous value');
  return outside.length === 0 && !longer;
}

function checkTolerations(
  next: readonly Toleration[],
  previous: readonly Toleration[],
  path: FieldPath,
  errors: FieldErrors,
): void {
  const untimed = (toleration: Toleration) => ({ ...toleration, tolerationSeconds: undefined });
  const kept = previous.every((old) => next.some((toleration) => isDeepEqual(untimed(toleration), untimed(old))));
  if (!kept) errors.forbidden(path, 'existing toleration can not be modified except its tolerationSeconds');
}

function checkGates(next: PodSpec, previous: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const before = (previous.schedulingGates ?? []).map(({ name }) => name);
  for (const [i, { name }] of (next.schedulingGates ?? []).entries()) {
    if (before.includes(name)) continue;
    errors.forbidden(path.index(i).child('name'), `only deletion is allowed, but found new scheduling gate '${name}'`);
  }
}

/** Until its gates are gone, a pod can be bound to fewer nodes than before. */
function checkGatedPlacement(next: PodSpec, previous: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const { nodeSelector = {} } = next;
  if (!Object.entries(previous.nodeSelector ?? {}).every(([key, value]) => nodeSelector[key] === value)) {
    const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    errors.invalid(path.child('nodeSelector'), nodeSelector, detail);
  }
  const before = previous.affinity?.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms ?? [];
  const after = next.affinity?.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms ?? [];
  const terms = path.child('affinity', 'nodeAffinity', REQUIRED, 'nodeSelectorTerms');
  if (before.length > 0 && before.length !== after.length) {
    errors.invalid(terms, after, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
    return;
  }
  for (const [i, term] of after.entries()) {
    const old = before[i];
    if (old === undefined || hasOnlyAdditions(term, old)) continue;
    errors.invalid(terms.index(i), term, 'only additions are allowed (no mutations or deletions)');
  }
}

function hasOnlyAdditions(next: NodeSelectorTerm, previous: NodeSelectorTerm): boolean {
  const fields = ['matchExpressions', 'matchFields'] as const;
  const empty = fields.every((field) => (previous[field] ?? []).length === 0);
  if (empty) return fields.every((field) => (next[field] ?? []).length === 0);
  return fields.every((field) => {
    const { length } = previous[field] ?? [];
    return isDeepEqual((next[field] ?? []).slice(0, length), previous[field] ?? []);
  });
}

/** The fields that are as they were in an allowed update; those that may change are the previous ones. */
function fixedFields(spec: PodSpec, previous: PodSpec, gated: boolean): Readonly<Record<string, unknown>> {
  const { terminationGracePeriodSeconds: before = 0 } = previous;
  const graceEnds = before < 0 && spec.terminationGracePeriodSeconds === 1;
  const { nodeAffinity: _, ...affinity } = spec.affinity ?? {};
  const fields: Readonly<Record<string, unknown>> = {
    ...spec,
    containers: withImagesOf(spec.containers, previous.containers),
    initContainers: withImagesOf(spec.initContainers ?? [], previous.initContainers ?? []),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
    schedulingGates: undefined,
    ...(graceEnds && { terminationGracePeriodSeconds: before }),
    ...(gated && { nodeSelector: undefined, affinity: Object.keys(affinity).length > 0 ? affinity : undefined }),
  };
  // An empty list is none, as in the reference's comparison.
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
}

const withImagesOf = (containers: readonly Container[], previous: readonly Container[]): readonly Container[] =>
  containers.map((container, i) => ({ ...container, image: previous[i]?.image }));
